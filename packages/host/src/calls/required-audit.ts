import { BulkheadError } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { RawCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'

export const isAuditRequired = ({ registry: { settings: { file } } }: HostContext): boolean => file.audit?.require === true

/** Call it before the event of the decision. */
export function beginRecord(call: RawCall, host: HostContext): void {
  if (isAuditRequired(host)) call.lossesBefore = host.audit()?.losses ?? 0
}

/** For a required audit: resolves when the decision is in it, and rejects if it cannot be. */
export async function untilRecorded(call: RawCall, host: HostContext): Promise<void> {
  const audit = host.audit()
  if (audit === undefined) throw noAudit()
  const recorded = audit.recorded(call.lossesBefore).catch((cause: unknown) => { throw notRecorded(cause) })
  await untilAborted(recorded, call.signal)
}

/**
 * A required audit that failed may work again. Waits for the record of the proposal, so that no call is denied for an old failure.
 */
export async function retryAudit(call: RawCall, host: HostContext): Promise<void> {
  await untilAborted(Promise.resolve(host.audit()?.settled()), call.signal)
}

/** Why no call would run, as far as that is known without writing a record. */
export function auditFault(host: HostContext): BulkheadError | undefined {
  if (!isAuditRequired(host)) return undefined
  const audit = host.audit()
  if (audit === undefined) return noAudit()
  return audit.broken && notRecorded(audit.broken)
}

const noAudit = (): BulkheadError => new BulkheadError('StoreUnavailable',
  'The configuration requires an audit (audit.require), and this host keeps none. Start it with a store that outlives it.')

const notRecorded = (cause: unknown): BulkheadError => new BulkheadError('StoreUnavailable',
  `The call was not run: the configuration requires an audit (audit.require), and it cannot be written. ${messageOf(cause)}`, { cause })
