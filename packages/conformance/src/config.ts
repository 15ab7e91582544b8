import { LIFECYCLE_PHASES } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { generateArguments, type ArgumentsKind } from './generate.ts'
import { evidenceOf, runPhases, type Run } from './lifecycle.ts'
import { OutOfTime } from './patience.ts'
import { firstOf, type Requirement } from './requirement.ts'
import { callIdOf } from './services.ts'
import { asked, inCompartment, probed, type ConformanceTarget, type RunTarget } from './target.ts'
import { acceptsOf } from './validators.ts'

interface ConfigFact {
  readonly kind: ArgumentsKind | 'missing'
  readonly config: JsonObject
  readonly run: Run
}

export interface ConfigFacts {
  readonly starts: readonly ConfigFact[]
  /** Keys that no phase and no call read, although they were set. */
  readonly unread: readonly string[]
}

/** Configurations of each kind. */
const RUNS = 5
const GENERATED = 40

/** Starts and stops the extension with configurations that are generated from the configSchema. */
export async function observeConfig(
  target: RunTarget, { seed, calls }: { readonly seed: number; readonly calls: readonly ConfigCall[] },
): Promise<ConfigFacts> {
  const { configSchema: schema } = target.extension.manifest
  const keys = Object.keys((schema['properties'] ?? {}) as JsonObject)
  if (keys.length === 0) return { starts: [], unread: [] }
  const accepts = acceptsOf(schema)
  const generated = generateArguments({ schema, accepts, seed, runs: GENERATED })
  const some = (...kinds: readonly ArgumentsKind[]) => spread(generated.filter(({ kind, args }) =>
    kinds.includes(kind) && (kind !== 'hostile' || accepts(args))), RUNS)
  const planned = [
    ...(accepts({}) ? [{ kind: 'missing' as const, args: {} }] : []),
    ...some('valid'), ...some('boundary'), ...some('hostile'), ...some('invalid'),
  ]
  const starts: ConfigFact[] = []
  for (const { kind, args: config } of planned) {
    // What was seen so far counts.
    if (target.patience.reason !== undefined) return { starts, unread: [] }
    starts.push({ kind, config, run: await runPhases(target, LIFECYCLE_PHASES, { config }) })
  }
  const whole = planned.map(({ args }) => args).filter(accepts)
    .toSorted((one, other) => Object.keys(other).length - Object.keys(one).length)[0] ?? {}
  return { starts, unread: await unreadKeys(target, whole, calls) }
}

/** Some of many, at equal distances. */
const spread = <Item>(all: readonly Item[], count: number): readonly Item[] =>
  all.length <= count ? all : Array.from({ length: count }, (_, index) => all[Math.floor(index * all.length / count)]!)

/** The configuration of the target, or a valid one if an empty one is none. */
export function withConfig(target: ConformanceTarget, seed: number): ConformanceTarget {
  const { configSchema: schema } = target.extension.manifest
  const accepts = acceptsOf(schema)
  if (accepts(target.config ?? {})) return target
  const valid = generateArguments({ schema, accepts, seed, runs: GENERATED }).find(({ kind }) => kind === 'valid')
  return valid ? { ...target, config: valid.args } : target
}

interface ConfigCall {
  readonly tool: { readonly name: string }
  readonly args: JsonObject
}

/** Starts the extension with these keys, calls each tool once, and returns the keys that its code never read. */
async function unreadKeys(
  target: RunTarget, config: JsonObject, calls: readonly ConfigCall[],
): Promise<readonly string[]> {
  const unread = inCompartment(target, async (opened) => {
    for (const { tool, args } of calls) {
      await asked(opened, `"${tool.name}"`, (signal) => opened.session
        .call({ callId: callIdOf(tool.name, 'config'), tool: tool.name, args, signal }).catch(() => undefined))
    }
    const { configKeys } = await probed(opened)
    return Object.keys(config).filter((key) => !configKeys.includes(key))
  }, { config, isInstrumented: true })
  // The other checks show why it does not start.
  return unread.catch((thrown: unknown) => {
    if (thrown instanceof OutOfTime) throw thrown
    return []
  })
}

const SPEC = 'docs/guides/lifecycle.md'

const starting = (...kinds: readonly ConfigFact['kind'][]) => ({ starts }: ConfigFacts): string | undefined =>
  firstOf(starts, ({ kind, config, run }) =>
    run && kinds.includes(kind) ? `${JSON.stringify(config).slice(0, 120)}: ${evidenceOf(run)}` : undefined)

export const CONFIG_REQUIREMENTS: readonly Requirement<ConfigFacts>[] = [
  {
    id: 'config-valid', level: 'must', spec: SPEC,
    statement: 'The extension starts with every configuration that satisfies its configSchema.',
    why: 'An operator relies on the schema.',
    cure: 'Say in the configSchema what init checks itself.',
    check: starting('valid'),
  },
  {
    id: 'config-missing', level: 'must', spec: SPEC,
    statement: 'The extension starts without configuration, or the configSchema requires what it needs.',
    why: 'An operator learns what is missing from the schema, before the first call.',
    cure: 'Use a default in the code, or add the key to "required".',
    check: starting('missing'),
  },
  {
    id: 'config-worst', level: 'should', spec: SPEC,
    statement: 'The extension starts with the shortest, longest and oddest values that satisfy its configSchema.',
    why: 'Someone will configure them.',
    cure: 'Narrow the configSchema with minimum, maxLength or pattern, or handle the value.',
    check: starting('boundary', 'hostile'),
  },
  {
    id: 'config-invalid', level: 'must', spec: SPEC,
    statement: 'With a configuration that breaks its configSchema, the extension starts or a phase throws.',
    why: 'A crash or an endless phase would hide the reason.',
    cure: 'Throw an error that names the key.',
    check: ({ starts }) =>
      starting('invalid')({ starts: starts.filter(({ run }) => run?.error.code !== 'LifecycleFailure'), unread: [] }),
  },
  {
    id: 'config-used', level: 'should', spec: SPEC,
    statement: 'The code reads every configuration key that it declares.',
    why: 'An operator sets it without effect.',
    cure: 'Use the key, or remove it from the configSchema.',
    check: ({ unread: [first] }) => first && `it never read "${first}"`,
  },
]
