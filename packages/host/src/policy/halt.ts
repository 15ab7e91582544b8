import { BulkheadError, type InteractionKind } from '@bulkhead/contract'
import type { RawCall } from './call.ts'

/** Where nobody can be asked and the session wants it so: ends the turn, this call with it. Throws the reason. */
export function haltIfHeadless(call: RawCall, requestKind: InteractionKind): void {
  const { session, name, scope: { turn } } = call
  if (session.policy.headless !== 'halt') return
  const message = `The turn ended: "${name}" needs a person's word and nobody is there to be asked.`
  const data = { reason: 'cap', kind: 'permission-required', requestKind, tool: name }
  turn.cancel(new BulkheadError('TurnCancelled', message, { data }))
  call.throwIfCancelled()
}
