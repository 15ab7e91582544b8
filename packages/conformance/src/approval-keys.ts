import {
  BulkheadError, CALL_LIMITS, checkApprovalKey, compileApprovalKey, type ToolManifest,
} from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { isAccepted, type CallsFacts } from './calls.ts'
import { OutOfTime } from './patience.ts'
import { firstFact, firstOf, type Requirement } from './requirement.ts'
import { asked, inCompartment, type OpenedCompartment, type RunTarget } from './target.ts'
import { acceptsOf } from './validators.ts'

export interface KeyFact {
  readonly tool: ToolManifest
  readonly args: JsonObject
  /** The keys of the same arguments: twice, with reordered members, and in another compartment. */
  readonly keys: readonly string[]
  readonly error?: BulkheadError
}

export interface KeyFacts {
  readonly keys: readonly KeyFact[]
  /** The keys of two calls that differ only in where one argument ends and the next begins. */
  readonly shifted: readonly KeyFact[]
}

type Derive = (tool: ToolManifest, args: JsonObject) => Promise<string> | undefined

/** Derives the approval key of each valid call several times. Tools whose key is their name are left out. */
export async function observeKeys(target: RunTarget, { calls }: CallsFacts): Promise<KeyFacts> {
  const valid = calls.filter(isAccepted)
  const derived = await Promise.all([0, 1].map(() => inCompartment(target, async (opened) => {
    const derive = deriving(opened)
    const facts: KeyFact[] = []
    for (const { tool, args } of valid) {
      const orders = [args, args, reordered(args)].map((each) => derive(tool, each))
      if (orders[0] === undefined) continue
      const fact = await Promise.all(orders).then(
        (keys) => ({ tool, args, keys: keys as string[] }),
        (thrown: unknown) => thrown instanceof OutOfTime
          ? undefined : { tool, args, keys: [], error: BulkheadError.from(thrown) },
      )
      if (fact === undefined) break
      facts.push(fact)
    }
    return facts
  })))
  const [first = [], second = []] = derived
  return {
    keys: first.map((fact, index) => ({ ...fact, keys: [...fact.keys, ...second[index]?.keys ?? []] })),
    shifted: target.patience.reason !== undefined ? [] : await inCompartment(target, (opened) =>
      shiftedKeys(target.extension.manifest.tools, deriving(opened))),
  }
}

const deriving = ({ session, ...opened }: OpenedCompartment): Derive => (tool, args) => {
  const template = tool.approvalKey
  if (template !== undefined) return derivedFrom(template, args)
  if (!session.offers.approvalKeys.has(tool.name)) return undefined
  return asked(opened, `deriveApprovalKey of "${tool.name}"`, (signal) =>
    session.deriveApprovalKey(tool.name, args, signal).then((key) => checkApprovalKey(key)))
}

/** What code may put between two arguments. */
const SEPARATORS = ['', ' ', ':', '-', ','] as const

/** Moves the border between two string arguments, for tools whose key depends on them. */
async function shiftedKeys(tools: readonly ToolManifest[], derive: Derive): Promise<readonly KeyFact[]> {
  const facts: KeyFact[] = []
  for (const tool of tools) {
    const accepts = acceptsOf(tool.inputSchema)
    const [one, two] = Object.entries((tool.inputSchema['properties'] ?? {}) as JsonObject)
      .filter(([, schema]) => isJsonObject(schema) && schema['type'] === 'string').map(([name]) => name)
    if (one === undefined || two === undefined) continue
    for (const separator of SEPARATORS) {
      const calls = [
        { [one]: `x${separator}y`, [two]: 'z' }, { [one]: 'x', [two]: `y${separator}z` }, { [one]: 'q', [two]: 'w' },
      ]
      if (!calls.every(accepts)) continue
      const [first, second, third] = await Promise.all(calls.map((args) => derive(tool, args)?.catch(() => undefined)))
      const keys = [first, second].filter((key) => key !== undefined)
      if (first !== third) facts.push({ tool, args: calls[0]!, keys })
    }
  }
  return facts
}

const derivedFrom = async (template: string, args: JsonObject): Promise<string> => compileApprovalKey(template)(args)

/** The same members in the opposite order, at every depth. */
function reordered<Value extends Json>(value: Value): Value {
  if (Array.isArray(value)) return value.map((item: Json) => reordered(item)) as never
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).toReversed().map(([name, item]) => [name, reordered(item)])) as never
}

const SPEC = 'docs/guides/approvals.md'
const DIGEST = /^[0-9a-f]{32,}$|^[A-Za-z0-9+/]{43}=$/

export const KEY_REQUIREMENTS: readonly Requirement<KeyFacts>[] = [
  {
    id: 'key-derives', level: 'must', spec: SPEC,
    statement: 'Every valid call has an approval key.',
    why: 'Without a key the call is denied.',
    cure: 'Handle missing optional members in deriveApprovalKey.',
    check: ({ keys }) => firstFact(keys, ({ error }) => error && error.code !== 'ApprovalKeyInvalid'
      && `${error.code}: ${error.message}`),
  },
  {
    id: 'key-valid', level: 'must', spec: SPEC,
    statement: `An approval key has 1 to ${CALL_LIMITS.approvalKeyBytes} bytes and no control characters.`,
    why: 'A person reads it, and hosts refuse others.',
    cure: 'Shorten long parts to their beginning and a digest.',
    check: ({ keys }) => firstFact(keys, ({ error }) => error?.code === 'ApprovalKeyInvalid' && error.message),
  },
  {
    id: 'key-deterministic', level: 'must', spec: SPEC,
    statement: 'The same arguments have the same key, in any order of members and in every compartment.',
    why: 'An approval covers calls by their key. A time or random part makes a person answer again and again.',
    cure: 'Derive the key from the arguments alone, with sorted members.',
    check: (facts) => firstFact(facts.keys, ({ keys }) => {
      const other = keys.find((key) => key !== keys[0])
      return other !== undefined && `"${keys[0]!.slice(0, 60)}", then "${other.slice(0, 60)}"`
    }),
  },
  {
    id: 'key-distinct', level: 'must', spec: SPEC,
    statement: 'Different targets have different keys.',
    why: 'One approval would cover all of them.',
    cure: 'Put what the call acts on into the key: the path, the host, the command.',
    check: ({ keys }) => firstOf(new Set(keys.map(({ tool }) => tool)), (tool) => {
      const own = keys.filter((fact) => fact.tool === tool && fact.keys.length > 0)
      const targets = new Set(own.map(({ args }) => JSON.stringify(args)))
      const different = new Set(own.map(({ keys: [key] }) => key))
      return targets.size > 3 && different.size === 1
        ? `${tool.name}: ${targets.size} different calls have the key "${own[0]!.keys[0]!.slice(0, 60)}"` : undefined
    }),
  },
  {
    id: 'key-readable', level: 'should', spec: SPEC,
    statement: 'A person can read an approval key.',
    why: 'It is shown in the question, and a digest means nothing to a person.',
    cure: 'Use the arguments themselves: the path, the host, the command.',
    check: (facts) => firstFact(facts.keys, ({ args, keys: [key = ''] }) =>
      DIGEST.test(key) && !JSON.stringify(args).includes(key) && `the key is ${key.slice(0, 60)}`),
  },
  {
    id: 'key-unambiguous', level: 'should', spec: SPEC,
    statement: 'Arguments with another border between them have another key.',
    why: 'An approval of one call would cover another one.',
    cure: 'Use a template in "approvalKey", which escapes separators, or escape them yourself.',
    check: ({ shifted }) => firstFact(shifted, ({ keys: [one, other] }) =>
      one !== undefined && one === other && `other arguments have the same key "${one.slice(0, 60)}"`),
  },
]
