import type { CompartmentSession, ToolInvocation } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { Attack, Outcome, Step } from '../model/case.ts'
import type { Facts } from '../target/facts.ts'

/** The concurrent calls of the step `calls`. */
const CALLS_AT_ONCE = 3
/** How long to wait for the end of a compartment. */
const ENDED_MS = 60_000

export interface StepContext {
  readonly attack: Attack
  readonly facts: Facts
  readonly session: CompartmentSession
  /** Called with every string that leaves the compartment. */
  readonly inspect: InspectText
}

export type InspectText = (text: string, kind?: 'message' | 'other') => void

let called = 0

/** Runs one step on an open compartment. Contract: never rejects. */
export async function runStep(
  step: Exclude<Step, 'open' | 'reopen'>, { attack, facts, session, inspect }: StepContext,
): Promise<Outcome> {
  switch (step) {
    case 'call':
      return outcomeOf(inspect, () => session.call(invocation()))
    case 'calls': {
      const all = await Promise.all(Array.from({ length: CALLS_AT_ONCE },
        () => outcomeOf(inspect, () => session.call(invocation()))))
      return all.find((outcome) => 'refused' in outcome) ?? all[0]!
    }
    case 'derive':
      return outcomeOf(inspect, () => session.deriveApprovalKey('run', {}, deadline(attack.deadlineMs)))
    case 'close':
      return outcomeOf(inspect, async () => {
        await session.close()
        return null
      })
    case 'ended':
      return outcomeOf(inspect, async () => {
        const end = await Promise.race([session.ended,
          new Promise<undefined>((late) => setTimeout(late, ENDED_MS, undefined).unref())])
        if (end === undefined) return 'still open'
        if (end.kind === 'failed') throw end.error
        return null
      })
    default:
      return outcomeOf(inspect, async () => {
        await session.lifecycle(step)
        return null
      })
  }

  function invocation(): ToolInvocation {
    return { ...invocationOf(attack, facts), onProgress: (text) => inspect(text),
      onUpdate: (partial) => inspect(JSON.stringify(partial)) }
  }
}

export function invocationOf({ id, deadlineMs }: Attack, facts: Facts): ToolInvocation {
  return {
    callId: `call-${++called}`, tool: 'run', args: { id, facts: facts as unknown as Json },
    signal: deadline(deadlineMs),
  }
}

/** The outcome of work. Inspects its result or its error. Contract: never rejects. */
export async function outcomeOf(inspect: InspectText, work: () => Promise<Json>): Promise<Outcome> {
  try {
    const value = await work()
    inspect(JSON.stringify(value))
    return { returned: value }
  } catch (error) {
    const failure = BulkheadError.from(error)
    for (let at: unknown = failure; at instanceof Error; at = at.cause) {
      inspect(at.message, 'message')
      inspect(JSON.stringify((at as { readonly data?: unknown }).data ?? null))
    }
    return { refused: failure.code }
  }
}

/** Aborts like a deadline of the host. */
function deadline(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(new BulkheadError('ExecutionTimeout', 'The tool did not answer in time.')), ms)
    .unref()
  return controller.signal
}
