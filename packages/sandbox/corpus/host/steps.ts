import type { CompartmentSession, ToolInvocation } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { Attack, Outcome, Step } from '../case.ts'
import type { Facts } from '../ground/facts.ts'

/** More than one of these at once is what `calls` makes. */
const CALLS_AT_ONCE = 3
/** A compartment that is ended says so before all of it is gone. */
const ENDED_MS = 60_000

export interface Stage {
  readonly attack: Attack
  readonly facts: Facts
  readonly session: CompartmentSession
  /** Hears every text that comes out beside the result. */
  readonly hear: Hear
}

export type Hear = (text: string, kind?: 'message' | 'other') => void

let called = 0

/** One thing the host does with an open compartment. Contract: never rejects. */
export async function perform(step: Exclude<Step, 'open' | 'reopen'>, { attack, facts, session, hear }: Stage): Promise<Outcome> {
  switch (step) {
    case 'call':
      return outcomeOf(hear, () => session.call(invocation()))
    case 'calls': {
      const all = await Promise.all(Array.from({ length: CALLS_AT_ONCE },
        () => outcomeOf(hear, () => session.call(invocation()))))
      return all.find((outcome) => 'refused' in outcome) ?? all[0]!
    }
    case 'derive':
      return outcomeOf(hear, () => session.deriveApprovalKey('run', {}, deadline(attack.deadlineMs)))
    case 'close':
      return outcomeOf(hear, async () => {
        await session.close()
        return null
      })
    case 'ended':
      return outcomeOf(hear, async () => {
        const end = await Promise.race([session.ended,
          new Promise<undefined>((late) => setTimeout(late, ENDED_MS, undefined).unref())])
        if (end === undefined) return 'still open'
        if (end.kind === 'failed') throw end.error
        return null
      })
    default:
      return outcomeOf(hear, async () => {
        await session.lifecycle(step)
        return null
      })
  }

  function invocation(): ToolInvocation {
    return { ...invocationOf(attack, facts), onProgress: (text) => hear(text),
      onUpdate: (partial) => hear(JSON.stringify(partial)) }
  }
}

export function invocationOf({ id, deadlineMs }: Attack, facts: Facts): ToolInvocation {
  return { callId: `call-${++called}`, tool: 'run', args: { id, facts: facts as unknown as Json }, signal: deadline(deadlineMs) }
}

/** What work came to, with everything an error says heard. Contract: never rejects. */
export async function outcomeOf(hear: Hear, work: () => Promise<Json>): Promise<Outcome> {
  try {
    const value = await work()
    hear(JSON.stringify(value))
    return { returned: value }
  } catch (error) {
    const judged = BulkheadError.from(error)
    for (let at: unknown = judged; at instanceof Error; at = at.cause) {
      hear(at.message, 'message')
      hear(JSON.stringify((at as { readonly data?: unknown }).data ?? null))
    }
    return { refused: judged.code }
  }
}

/** Aborts as a host's deadline does. */
function deadline(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(new BulkheadError('ExecutionTimeout', 'The tool did not answer in time.')), ms).unref()
  return controller.signal
}
