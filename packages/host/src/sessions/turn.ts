import { setImmediate as nextTurn } from 'node:timers/promises'
import { BulkheadError, requireOptions, type Outcome, type ToolDefinition } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { finishCall, prepareCall, skipCall, untilAdmitted, type PreparedCall } from '../calls/pipeline.ts'
import type { CallOptions, Proposal } from '../calls/receive.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import { turnCancelled, type CancelReason, type CancelScope } from '../model/cancel-scope.ts'
import { WaitGroup } from '../model/waiting.ts'
import type { HostContext } from '../policy/call.ts'
import type { EventBus } from '../records/events.ts'
import type { EndedTask } from './background-tasks.ts'

/** One response of a model with its calls. Its tools are fixed when it begins. */
export interface Turn {
  /** From 1 in each session. */
  readonly number: number
  readonly signal: AbortSignal
  /** What background tasks have ended with since the last turn, in the order of their ends. Each is delivered once. */
  readonly results: readonly EndedTask[]
  tools(): readonly ToolDefinition[]
  /** Cancels its present and later calls. The session continues with the next turn. */
  cancel(reason?: CancelReason): void
}

export interface TurnParts {
  readonly number: number
  readonly scope: CancelScope
  readonly offered: OfferedTools
  readonly tools: () => readonly ToolDefinition[]
  /** Of the caller that began it. */
  readonly signal: AbortSignal | undefined
  readonly results: readonly EndedTask[]
}

/** Where a call is made: in a turn, or in its session. */
export interface Frame {
  readonly cancel: CancelScope
  readonly turn: CancelScope
  /** 0 outside of a turn. */
  readonly turnNumber: number
  readonly tools: OfferedTools
  /** Called when the call is over. */
  readonly ended?: () => void
}

export class HostTurn implements Turn {
  readonly number: number
  readonly scope: CancelScope
  readonly offered: OfferedTools
  readonly results: readonly EndedTask[]
  /** Its running calls. The turn ends after them. */
  readonly open = new WaitGroup()
  readonly #subagents = new Set<{ close(): Promise<void> }>()
  readonly #forgetSignal: (() => void) | undefined
  readonly #describe: TurnParts['tools']
  #tools: readonly ToolDefinition[] | undefined
  #ending: Promise<void> | undefined

  constructor({ number, scope, offered, tools, signal, results }: TurnParts) {
    this.number = number
    this.scope = scope
    this.offered = offered
    this.results = results
    this.#describe = tools
    this.#forgetSignal = signal && scope.follow(signal, turnCancelled)
  }

  get signal(): AbortSignal {
    return this.scope.signal
  }

  tools(): readonly ToolDefinition[] {
    this.#tools ??= this.#describe()
    return this.#tools
  }

  cancel(reason: CancelReason = 'user'): void {
    this.scope.cancel(turnCancelled(reason))
  }

  /** The sub-agent ends with the turn. Contract: one that is closed is disowned. */
  owns(subagent: { close(): Promise<void> }): void {
    this.#subagents.add(subagent)
  }

  /** The sub-agent has ended before it. */
  disowns(subagent: { close(): Promise<void> }): void {
    this.#subagents.delete(subagent)
  }

  /** Refuses calls to come, and resolves when those it has have settled and its sub-agents are closed. Idempotent. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    this.scope.refuse(new BulkheadError('TurnCancelled', 'The turn is over.', { data: { reason: 'parent' } }))
    while (this.open.size > 0) await this.open.whenNone()
    while (this.#subagents.size > 0) await Promise.all([...this.#subagents].map((subagent) => subagent.close()))
    this.#forgetSignal?.()
    this.scope.end()
  }
}

/**
 * How the calls of one response run. sequential: one after the other. parallel: all at once, as far as their extensions
 * run them at once. batched: this many at once. Results come in the order of the calls.
 */
export type ExecutionStrategy = 'sequential' | 'parallel' | { readonly batched: number }

/** Whether the user sent a new message. Called after each batch; true skips the calls that have not started. */
export type Steering = () => boolean | Promise<boolean>

export interface CallAllOptions extends CallOptions {
  /** Default: the session's. */
  readonly strategy?: ExecutionStrategy
  readonly steering?: Steering
}

export interface StrategyRun {
  readonly batchSize: number
  readonly steering: Steering | undefined
  readonly events: EventBus
  /** Cancels all the calls, and the wait for `steering`. */
  readonly cancel: Pick<CancelScope, 'signal' | 'reason'>
  /** Contract for both: must not reject. */
  finish(call: PreparedCall): Promise<Outcome>
  skip(call: PreparedCall): Promise<Outcome>
}

const PREPARED_AT_A_TIME = 256

/** The calls of one response. Contract: never rejects. */
export async function runAll(
  proposals: readonly Proposal[],
  { host, ...how }: Pick<StrategyRun, 'batchSize' | 'steering' | 'cancel'> & { readonly host: HostContext },
): Promise<readonly Outcome[]> {
  const prepared: PreparedCall[] = []
  // One after the other, so that questions come in the order of the calls.
  for (const proposal of proposals) {
    // The event loop serves others meanwhile.
    if (prepared.length % PREPARED_AT_A_TIME === PREPARED_AT_A_TIME - 1) await nextTurn()
    prepared.push(await prepareCall(proposal, host))
  }
  return runByStrategy(prepared, {
    ...how, events: host.events, finish: (call) => finishCall(call, host), skip: (call) => skipCall(call, host),
  })
}

/** Contract: never rejects. */
async function runByStrategy(calls: readonly PreparedCall[], run: StrategyRun): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let steered = false
  for (let start = 0; start < calls.length; start += run.batchSize) {
    const batch = calls.slice(start, start + run.batchSize)
    const ends: Promise<Outcome>[] = []
    for (const call of batch) {
      const admitted = steered ? undefined : untilAdmitted(call)
      if (admitted) await admitted
      ends.push(steered ? run.skip(call) : run.finish(call))
    }
    for (const end of ends) outcomes.push(await end)
    steered ||= await isSteered(run)
  }
  return outcomes
}

/** If `steering` fails, no further call starts. */
async function isSteered({ steering, events, cancel }: StrategyRun): Promise<boolean> {
  if (!steering) return false
  try {
    return await untilAborted((async () => steering())(), cancel.signal) === true
  } catch (thrown) {
    // The remaining calls end as cancelled.
    if (cancel.reason) return false
    events.suppressed('steering', thrown)
    return true
  }
}

/** Throws InputInvalid for an unknown strategy. */
export function batchSizeOf(strategy: ExecutionStrategy): number {
  if (strategy === 'parallel') return Infinity
  if (strategy === 'sequential') return 1
  const size: unknown = typeof strategy === 'object' && strategy !== null ? strategy.batched : undefined
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 1) return size
  const message = 'A strategy is "sequential", "parallel" or { batched: n } with n of at least 1.'
  throw new BulkheadError('InputInvalid', message, { data: { path: '/strategy' } })
}

export const NO_OPTIONS: CallOptions = {}

/** Throws InputInvalid. */
export function requireCalls(calls: unknown): void {
  if (Array.isArray(calls)) return
  throw new BulkheadError('InputInvalid', 'The calls are not a list.', { data: { path: '/calls' } })
}

/** Valid options, or the error of invalid ones in `wrong`. */
export type ReadOptions<Options> = Options & { readonly wrong?: BulkheadError }

const ONE: OptionForms<CallOptions> = {
  signal: forms.signal,
  // Checked with the call.
  timeoutMs: forms.anything,
  onProgress: forms.method,
  onLog: forms.method,
  isStep: forms.flag,
}
const ALL: OptionForms<CallAllOptions> = { ...ONE, strategy: forms.anything, steering: forms.method }

/** Every call ends in an outcome, so invalid options become its error. Contract: never throws. */
export const readCallOptions = (options: CallOptions): ReadOptions<CallOptions> => read('call', options, ONE)
export const readCallAllOptions = (options: CallAllOptions): ReadOptions<CallAllOptions> =>
  read('callAll', options, ALL)

function read<Options extends object>(
  called: string, options: Options, table: OptionForms<Options>,
): ReadOptions<Options> {
  try {
    requireOptions(called, options, table)
    return options
  } catch (thrown) {
    const { message, data } = BulkheadError.from(thrown)
    return { wrong: new BulkheadError('InputInvalid', message, { data: data ?? null }) } as ReadOptions<Options>
  }
}

export const turnInvalid = (message: string): BulkheadError => new BulkheadError('TurnInvalid', message)
