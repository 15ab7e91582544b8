import { BulkheadError, CALL_LIMITS, type ErrorClass, type ToolManifest } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { MIN_SECRET_CHARS } from '@bulkhead/kit/text'
import { generateArguments, type ArgumentsKind } from './generate.ts'
import { inCompartment, validatorOf, valuesOf, type ConformanceTarget, type OpenedCompartment } from './target.ts'

export interface CallFact {
  readonly tool: ToolManifest
  readonly kind: ArgumentsKind | 'repeated' | 'parallel'
  readonly args: JsonObject
  readonly value?: Json
  readonly error?: { readonly code: string; readonly class: ErrorClass; readonly message: string }
  readonly progress: readonly string[]
}

export interface CallsFacts {
  readonly calls: readonly CallFact[]
  /** Pairs of the same call. */
  readonly repeated: readonly (readonly [CallFact, CallFact])[]
  readonly log: readonly string[]
  readonly manifest: ConformanceTarget['extension']['manifest']
  readonly workspace: string
  /** Values that no output may have. */
  readonly hidden: readonly string[]
}

export interface CallsOptions {
  readonly seed: number
  readonly progress: (done: number, all: number) => void
}

/** Generated arguments of each kind, for each tool. */
const RUNS = 12
export const PARALLEL = 100
const REPEATED = 4
/** After so many, a tool is not called any more: each costs its whole timeout. */
const MOST_TIMEOUTS = 2
const GIVEN_UP: Pick<CallFact, 'error' | 'progress'> = {
  error: {
    code: 'ExecutionTimeout', class: 'ToolTransient', message: 'Not called, because earlier calls took too long.',
  },
  progress: [],
}

/** Calls every tool with generated arguments, one after the other, then the same again, then many at once. */
export async function observeCalls(target: ConformanceTarget, { seed, progress }: CallsOptions): Promise<CallsFacts> {
  const { manifest } = target.extension
  const log: string[] = []
  const planned = manifest.tools.flatMap((tool) => {
    const check = validatorOf(tool.inputSchema)
    const accepts = (value: Json): boolean => check(value) === undefined
    return generateArguments({ schema: tool.inputSchema, accepts, seed, runs: RUNS }).map((each) => ({ tool, ...each }))
  })
  const calls: CallFact[] = []
  const repeated: (readonly [CallFact, CallFact])[] = []
  const isHopeless = (tool: ToolManifest): boolean =>
    calls.filter((call) => call.tool === tool && call.error?.code === 'ExecutionTimeout').length >= MOST_TIMEOUTS
  // A call that ends its compartment must not take the others with it.
  while (calls.length < planned.length) {
    await inCompartment(target, async (opened) => {
      while (calls.length < planned.length) {
        const next = planned[calls.length]!
        const fact = isHopeless(next.tool) ? { ...next, ...GIVEN_UP } : await callOnce(opened, next)
        calls.push(fact)
        progress(calls.length, planned.length)
        if (endsCompartment(fact)) break
      }
      log.push(...opened.log.map(({ text }) => text))
    })
  }
  const valid = manifest.tools.flatMap((tool) =>
    calls.filter((fact) => fact.tool === tool && fact.kind === 'valid' && !isHopeless(tool)).slice(0, REPEATED))
  await inCompartment(target, async (opened) => {
    for (const fact of valid) repeated.push([fact, await callOnce(opened, { ...fact, kind: 'repeated' })])
  })
  const [first] = valid
  if (first) {
    await inCompartment(target, async (opened) => {
      const parallel = Array.from({ length: PARALLEL }, (_, index) => valid[index % valid.length]!)
      calls.push(...await Promise.all(parallel.map((fact) => callOnce(opened, { ...fact, kind: 'parallel' }))))
    })
  }
  // Shorter values occur in texts by chance.
  const hidden = [...valuesOf(target).values()].filter(({ length }) => length >= MIN_SECRET_CHARS)
  return { calls, repeated, log, manifest, workspace: target.workspace, hidden }
}

let count = 0

async function callOnce(
  { session }: OpenedCompartment, { tool, kind, args }: Pick<CallFact, 'tool' | 'kind' | 'args'>,
): Promise<CallFact> {
  const progress: string[] = []
  const { timeoutMs = CALL_LIMITS.defaultTimeoutMs, name } = tool
  const late = new BulkheadError('ExecutionTimeout', `The call took longer than ${timeoutMs} ms.`)
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(late), timeoutMs)
  const onProgress = (text: string): void => void progress.push(text)
  try {
    const value =
      await session.call({ callId: `conformance-${++count}`, tool: name, args, signal: deadline.signal, onProgress })
    return { tool, kind, args, value, progress }
  } catch (thrown) {
    const { code, class: errorClass, message } = BulkheadError.from(thrown)
    return { tool, kind, args, error: { code, class: errorClass, message }, progress }
  } finally {
    clearTimeout(timer)
  }
}

/** Generated from the schema, and it accepts them. */
export const isAccepted = ({ kind }: CallFact): boolean => kind === 'valid' || kind === 'boundary'

export const endsCompartment = ({ error }: CallFact): boolean => error?.class === 'ExtensionHost'
