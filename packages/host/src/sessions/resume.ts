import type { Outcome } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { HostContext } from '../policy/host-context.ts'
import type { Claim } from '../policy/interaction/paused-calls.ts'

/**
 * Has a paused call run again, and is over when others may have it or its record is gone. Rejects with NotFound,
 * InteractionAlreadyAnswered, InputInvalid or StoreUnavailable, and then nothing has changed.
 */
export async function goOnWith(
  id: string, answer: Json | undefined, run: (claim: Claim) => Promise<Outcome>, { paused, events }: Pick<HostContext, 'paused' | 'events'>,
): Promise<Outcome> {
  const outcome = await run(await paused.claim(id, answer))
  // The outcome is there whatever becomes of the record.
  await paused.release(id, mustGoOn(outcome)).catch((thrown: unknown) => events.suppressed('paused calls', thrown))
  return outcome
}

/** Paused again, ended from outside, or refused by anything but a person before it had used its answer. */
function mustGoOn(outcome: Outcome): boolean {
  if (outcome.type === 'output') return false
  const { error: { code, class: errorClass, data }, metadata: { attempt } } = outcome
  if (attempt === 0) return !(isJsonObject(data) && data['source'] === 'person')
  return code === 'ClarificationNeeded' || code === 'HostClosed' || errorClass === 'Cancellation'
}
