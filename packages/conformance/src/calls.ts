import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, CALL_LIMITS, type ErrorClass, type Manifest, type ToolManifest } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { MIN_SECRET_CHARS } from '@bulkhead/kit/text'
import { generateArguments, type ArgumentsKind } from './generate.ts'
import { OutOfTime } from './patience.ts'
import { callIdOf } from './services.ts'
import { inCompartment, valuesOf, type OpenedCompartment, type RunTarget } from './target.ts'
import { acceptsOf } from './validators.ts'

type Example = NonNullable<ToolManifest['examples']>[number]

interface PlannedCall {
  readonly tool: ToolManifest
  readonly kind: ArgumentsKind | 'example' | 'repeated' | 'parallel'
  readonly args: JsonObject
  /** Set for an example of the manifest. */
  readonly example?: Example
}

export interface CallFact extends PlannedCall {
  readonly value?: Json
  readonly error?: {
    readonly code: string
    readonly class: ErrorClass
    readonly message: string
    /** The part of `runtime` or the global that the manifest does not declare. */
    readonly undeclared?: true
  }
  readonly progress: readonly string[]
  readonly updates: number
  /** The first that it began and that can have an effect, in words. */
  readonly began?: string
  /** Lines that it logged. */
  readonly logged: number
}

/** A call that was made again with the same arguments. */
export interface Repetition {
  readonly first: CallFact
  /** The same twice, in two compartments with a fixed clock and seed. */
  readonly again: CallFact
  readonly other: CallFact
  /** For an idempotent tool: a file that the last call changed. */
  readonly changed?: string | undefined
}

/** What calls showed. */
export interface CallsFacts extends MadeCalls {
  /** Why a tool fails that lacks a power, as the end of a sentence. */
  readonly causes: ReadonlyMap<ToolManifest, string>
}

export interface MadeCalls {
  readonly calls: readonly CallFact[]
  readonly repeated: readonly Repetition[]
  /** For each tool, a call that succeeds whenever it is made, if there is one. */
  readonly reliable: readonly CallFact[]
  readonly log: readonly string[]
  /** What the tools wrote to the state. */
  readonly states: readonly Json[]
  /** The tools whose code can revert them. */
  readonly reverts: ReadonlySet<string>
  /** With the tools that were called. */
  readonly manifest: Manifest
  readonly workspace: string
  /** Values that no output may have. */
  readonly hidden: readonly string[]
}

export interface CallsOptions {
  readonly seed: number
  /** Whether calls are made again, and many at once. */
  readonly repeats: boolean
  readonly progress: (tool: string, done: number, all: number) => void
}

/** Generated arguments of each kind, for each tool. */
const RUNS = 12
export const PARALLEL = 100
const REPEATED = 4
/** After so many, a tool is not called any more: each costs its whole timeout. */
const MOST_TIMEOUTS = 2
const NOTHING = { progress: [], updates: 0, logged: 0 }
const GIVEN_UP: Omit<CallFact, keyof PlannedCall> = {
  ...NOTHING,
  error: {
    code: 'ExecutionTimeout', class: 'ToolTransient', message: 'Not called, because earlier calls took too long.',
  },
}

/** Calls every tool: its examples, generated arguments one after the other, some of them again, then many at once. */
export async function observeCalls(target: RunTarget, { seed, repeats, progress }: CallsOptions): Promise<MadeCalls> {
  const { manifest } = target.extension
  const log: string[] = []
  const states: Json[] = []
  const reverts = new Set<string>()
  const calls: CallFact[] = []
  const repeated: Repetition[] = []
  const isHopeless = (tool: ToolManifest): boolean =>
    calls.filter((call) => call.tool === tool && call.error?.code === 'ExecutionTimeout').length >= MOST_TIMEOUTS
  try {
    // Examples first: generated arguments may change the files that they need.
    const planned = manifest.tools.flatMap((tool) => planOf(tool, seed))
      .toSorted((one, other) => Number(other.kind === 'example') - Number(one.kind === 'example'))
    // A call that ends its compartment must not take the others with it.
    while (calls.length < planned.length) {
      await inCompartment(target, async (opened) => {
        for (const name of opened.session.offers.reverts ?? []) reverts.add(name)
        while (calls.length < planned.length) {
          const next = planned[calls.length]!
          const { current, written } = opened.state
          const known = written.length
          progress(next.tool.name, calls.length, planned.length)
          const fact = isHopeless(next.tool) ? { ...next, ...GIVEN_UP } : await callOnce(opened, next)
          calls.push(fact)
          // A host would have rejected other arguments, so what they wrote does not count.
          if (isAccepted(fact)) states.push(...written.slice(known))
          else opened.state.current = current
          if (endsCompartment(fact)) break
        }
        log.push(...opened.log.map(({ text }) => text))
      })
    }
    const valid = !repeats ? [] : manifest.tools.flatMap((tool) => calls.filter((fact) =>
      fact.tool === tool && (fact.kind === 'valid' || fact.kind === 'example') && !isHopeless(tool)).slice(0, REPEATED))
    if (valid.length > 0) {
      repeated.push(...await repeat(target, valid))
      await inCompartment(target, async (opened) => {
        const parallel = Array.from({ length: PARALLEL }, (_, index) => valid[index % valid.length]!)
        calls.push(...await Promise.all(parallel.map((fact) => callOnce(opened, { ...fact, kind: 'parallel' }))))
      })
    }
  } catch (thrown) {
    // What was seen so far counts. The suite says what was not run.
    if (!(thrown instanceof OutOfTime)) throw thrown
  }
  const reliable = manifest.tools.flatMap((tool) => repeated
    .find(({ first, again, other }) => first.tool === tool && !again.error && !other.error)?.again ?? [])
  // Shorter values occur in texts by chance. A variable that a publisher gives a value may be meant to be seen.
  const hidden = [...valuesOf(target)].filter(([name, { length }]) => length >= MIN_SECRET_CHARS
    && !(manifest.env.includes(name) && target.fixtures?.secrets.has(name))).map(([, value]) => value)
  const tools = target.patience.reason === undefined ? manifest.tools
    : manifest.tools.filter((tool) => calls.some((call) => call.tool === tool && isAccepted(call)))
  return {
    calls, repeated, reliable, log, states, reverts, manifest: { ...manifest, tools }, workspace: target.workspace,
    hidden,
  }
}

function planOf(tool: ToolManifest, seed: number): readonly PlannedCall[] {
  const accepts = acceptsOf(tool.inputSchema)
  const examples = (tool.examples ?? []).filter(({ arguments: args }) => accepts(args as JsonObject))
  return [
    ...examples.map((example) =>
      ({ tool, kind: 'example' as const, args: example.arguments as JsonObject, example })),
    ...generateArguments({ schema: tool.inputSchema, accepts, seed, runs: RUNS }).map((each) => ({ tool, ...each })),
  ]
}

const repeat = (target: RunTarget, facts: readonly CallFact[]): Promise<readonly Repetition[]> =>
  inCompartment(target, (one) => inCompartment(target, async (two) => {
    const repeated: Repetition[] = []
    for (const first of facts) {
      const again = await callOnce(one, { ...first, kind: 'repeated' })
      const before = isIdempotent(first.tool) ? snapshot(target.workspace) : undefined
      const other = await callOnce(two, { ...first, kind: 'repeated' })
      const changed = before && firstChange(before, snapshot(target.workspace))
      repeated.push({ first, again, other, changed })
    }
    return repeated
  }, { isInstrumented: true }), { isInstrumented: true })

/** The digest of each file. */
function snapshot(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(files.map(({ parentPath, name }) => {
    const path = join(parentPath, name)
    return [path.slice(folder.length + 1), createHash('sha256').update(readFileSync(path)).digest('hex')]
  }))
}

const firstChange = (
  before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>,
): string | undefined => [...before.keys(), ...after.keys()].find((path) => before.get(path) !== after.get(path))

let count = 0

/** Makes one call under the deadline of its tool. Rejects with OutOfTime only. */
export async function callOnce({ session, log, patience }: OpenedCompartment, planned: PlannedCall): Promise<CallFact> {
  const { tool: { timeoutMs = CALL_LIMITS.defaultTimeoutMs, name }, args } = planned
  const { tool, kind, example } = planned
  const progress: string[] = []
  let updates = 0
  let began: string | undefined
  const callId = callIdOf(name, ++count)
  const before = log.length
  const fact = (): Omit<CallFact, 'value' | 'error'> => ({
    tool, kind, args, ...(example && { example }), progress, updates, ...(began !== undefined && { began }),
    // Lines of the console do not name their call.
    logged: kind === 'parallel' ? 0 : log.length - before,
  })
  try {
    const value = await patience.wait(`"${name}"`, timeoutMs, (signal) => session.call({
      callId, tool: name, args, signal,
      onProgress: (text) => void progress.push(text),
      onUpdate: () => void updates++,
      beginEffect: (what) => {
        began ??= what
        return undefined
      },
    }))
    return { ...fact(), value }
  } catch (thrown) {
    if (thrown instanceof OutOfTime) throw thrown
    const { code, class: errorClass, message, data } = BulkheadError.from(thrown)
    const isUndeclared = code === 'CapabilityDenied' && isJsonObject(data) && data['undeclared'] !== undefined
    return { ...fact(), error: { code, class: errorClass, message, ...(isUndeclared && { undeclared: true }) } }
  }
}

export const isIdempotent = ({ idempotent, effects }: ToolManifest): boolean => idempotent || effects === 'idempotent'

/** Arguments that the schema accepts, made by one call alone. */
export const isAccepted = ({ kind }: CallFact): boolean => kind === 'valid' || kind === 'boundary' || kind === 'example'

export const endsCompartment = ({ error }: CallFact): boolean => error?.class === 'ExtensionHost'
