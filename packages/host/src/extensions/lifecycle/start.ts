import { BulkheadError, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { Deadline } from '../../model/deadline.ts'
import type { Starter } from './extension-parts.ts'
import type { Extension } from './extension.ts'

/** A call that needs the compartment of its tool. */
export interface StartingCall extends TimedCall {
  readonly tool: { readonly name: string; readonly timeoutMs: number; readonly extension: Extension }
  readonly session: { readonly interactions: Starter }
  readonly parent: { pause(): () => void } | undefined
  readonly signal: AbortSignal
  leftMs: number
  askedMs: number
}

interface TimedCall {
  readonly tool: { readonly name: string; readonly timeoutMs: number }
  readonly timeoutMs: number | undefined
}

/**
 * Waits for the compartment of a call within the time of the call, and takes the wait from that time. Rejects with
 * ExecutionTimeout or when the call is cancelled. The start goes on either way: other calls may wait for it.
 * `gone`: a compartment that ended, for a call that needs the next one.
 */
export async function untilStarted(call: StartingCall, clock: Clock, gone?: CompartmentSession): Promise<CompartmentSession> {
  const { tool: { extension }, session: { interactions } } = call
  const late = Promise.withResolvers<never>()
  const deadline = new Deadline(clock, call.leftMs, () => late.reject(overdue(call)))
  const leavePause = extension.startPause.join(() => {
    const resumes = [deadline.pause(), call.parent?.pause()]
    return () => { for (const resume of resumes) resume?.() }
  })
  try {
    const starting = gone ? extension.startAfterEnd(gone, interactions) : extension.start(interactions)
    return await untilAborted(Promise.race([starting, late.promise]), call.signal)
  } finally {
    // In this order: what is left is known while the time runs.
    leavePause()
    deadline.stop()
    call.leftMs = deadline.leftMs
    call.askedMs += deadline.pausedMs
  }
}

/** The time of a call is over, whether it waited or ran. */
export function overdue({ tool, timeoutMs = tool.timeoutMs }: TimedCall): BulkheadError {
  return new BulkheadError('ExecutionTimeout', `The tool "${tool.name}" did not answer within ${timeoutMs} ms.`, { data: { timeoutMs } })
}

/** Whether a request never reached its compartment, and can be sent to the next one. */
export const isCompartmentGone = (thrown: unknown): boolean => BulkheadError.is(thrown) && thrown.code === 'CompartmentGone'
