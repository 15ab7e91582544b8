import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { RawCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'

const isRequired = ({ registry: { settings: { file } } }: HostContext): boolean => file.audit?.require === true

/** Before the event of the decision. */
export function beginRecord(call: RawCall, host: HostContext): void {
  if (isRequired(host)) call.lossesBefore = host.audit()?.losses ?? 0
}

/** Where the configuration requires the audit: resolves when the decision on the call is in it, and rejects when it is not. */
export function recorded(call: RawCall, host: HostContext): Promise<void> | undefined {
  if (!isRequired(host)) return undefined
  const audit = host.audit()
  if (audit === undefined) return Promise.reject(noAudit())
  return audit.recorded(call.lossesBefore).catch((cause: unknown) => { throw notRecorded(cause) })
}

/** As far as it is known without writing a record: why no call would be run. */
export function auditFault(host: HostContext): BulkheadError | undefined {
  if (!isRequired(host)) return undefined
  const audit = host.audit()
  if (audit === undefined) return noAudit()
  return audit.broken && notRecorded(audit.broken)
}

const noAudit = (): BulkheadError => new BulkheadError('StoreUnavailable',
  'The configuration requires an audit (audit.require), and this host keeps none. Start it with a store that outlives it.')

const notRecorded = (cause: unknown): BulkheadError => new BulkheadError('StoreUnavailable',
  `The call was not run: the configuration requires an audit (audit.require), and it cannot be written. ${messageOf(cause)}`, { cause })
