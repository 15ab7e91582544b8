import { BulkheadError, type ExtensionDescriptor, type SessionAccess } from '@bulkhead/contract'
import { atPointer, findJsonFault, type Json } from '@bulkhead/kit/json'
import type { RunningCall } from '../calls/running-call.ts'
import type { SessionScope } from '../policy/call.ts'
import type { RunningCalls } from '../extensions/running-calls.ts'

/** Of one extension in one session, as JSON. */
const MAX_CHARS = 256 * 1024

export interface MemorySources {
  readonly descriptor: Pick<ExtensionDescriptor, 'id' | 'layer'>
  readonly running: Pick<RunningCalls<RunningCall>, 'get'>
}

/** By extension and layer. A session that is over takes what was kept for it along. */
const kept = new WeakMap<SessionScope, Map<string, Json>>()

/** What the session of a running call keeps of one extension. Nothing of it outlives the session or reaches a store. */
export function sessionMemory({ descriptor: { id, layer }, running }: MemorySources): SessionAccess {
  const key = `${layer}/${id}`
  const sessionOf = (callId: string): SessionScope => {
    const current = running.get(callId)
    if (current) return current.call.session
    throw new BulkheadError('CapabilityDenied', `The extension "${id}" asked for a session outside of a call. Ask while one runs.`)
  }
  return {
    async read(callId) {
      const session = sessionOf(callId)
      return { id: session.id, data: kept.get(session)?.get(key) ?? null }
    },
    async write(callId, data) {
      const session = sessionOf(callId)
      const fault = findJsonFault(data)
      const isTooLong = fault === undefined && JSON.stringify(data).length > MAX_CHARS
      if (fault || isTooLong) {
        const why = fault ? `${atPointer(fault.path)} ${fault.message}` : ` is longer than ${MAX_CHARS} characters`
        throw new BulkheadError('StateInvalid', `What "${id}" keeps for its session${why}.`)
      }
      const memory = kept.get(session) ?? new Map<string, Json>()
      kept.set(session, memory.set(key, structuredClone(data)))
    },
  }
}
