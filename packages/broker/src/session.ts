import type { CompartmentServices, SessionAccess } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { Capabilities } from './model/capability.ts'

/** What the session of a call keeps of the extension, through the host. */
export function sessionCapability({ session }: CompartmentServices): Capabilities {
  const access = (): SessionAccess => {
    if (session !== undefined) return session
    throw new BulkheadError('CapabilityUnavailable', 'This host keeps nothing for a session.')
  }
  return {
    'session.read': async ({ callId, hostCallId }) => await access().read(hostCallId ?? callId) as unknown as JsonObject,
    async 'session.write'({ callId, hostCallId }, args) {
      await access().write(hostCallId ?? callId, args[0] ?? null)
      return null
    },
  }
}
