import { BulkheadError } from '@bulkhead/contract'
import type { CapabilityUnit, OpenCall } from '../model/capability.ts'
import { textArgument } from '../model/capability.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import type { Compartment } from './call-traffic.ts'
import { CallTraffic } from './call-traffic.ts'
import type { Lookup } from './connect.ts'
import { systemLookup } from './connect.ts'
import { DecoderMemory } from './decoder-memory.ts'
import type { NetLimits } from './limits.ts'
import { NET_LIMITS } from './limits.ts'
import { readOutgoing } from './request.ts'
import { URL_CHARS } from '../hosts/url-policy.ts'

export interface NetOptions {
  /** How names become addresses. Default: as the system does it. */
  readonly lookup?: Lookup
  /** Certificates to trust instead of the system's, in PEM. */
  readonly ca?: string
  readonly limits?: Partial<NetLimits>
  /** Put in the place of their handles on the way out, and taken out of what comes back. */
  readonly secrets?: SecretsCapability | undefined
}

/** Hosts inside the grant of the tool, over http and https. No proxy, cookies or cache: what a tool sends is what is sent. */
export function netCapability({ lookup = systemLookup, ca, limits: given, secrets }: NetOptions): CapabilityUnit {
  const limits = { ...NET_LIMITS, ...given }
  const calls = new Map<string, { readonly traffic: CallTraffic; readonly forget: () => void }>()
  const leaving = new Set<Promise<void>>()
  let closed: BulkheadError | undefined
  const requests = places(limits.requestsAtOnce, 'requests')
  const lookups = places(limits.lookupsAtOnce, 'lookups of names')
  const compartment: Compartment = {
    limits,
    ca,
    claim: requests,
    decoders: new DecoderMemory(limits.decoderBytes),
    async lookup(host) {
      const giveBack = lookups()
      try {
        return await lookup(host)
      } finally {
        giveBack()
      }
    },
  }

  const end = (callId: string, reason: BulkheadError): void => {
    const call = calls.get(callId)
    if (call === undefined) return
    calls.delete(callId)
    call.forget()
    const gone = call.traffic.end(reason)
    leaving.add(gone)
    void gone.then(() => leaving.delete(gone))
  }

  const trafficOf = ({ callId, tool, signal, effects }: OpenCall): CallTraffic => {
    const known = calls.get(callId)
    if (known !== undefined) return known.traffic
    if (closed !== undefined) throw closed
    const abort = (): void => end(callId, BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    signal.addEventListener('abort', abort, { once: true })
    const traffic = new CallTraffic(tool.grant, compartment, secrets?.of(callId), effects)
    calls.set(callId, { traffic, forget: () => signal.removeEventListener('abort', abort) })
    return traffic
  }

  return {
    capabilities: {
      async 'net.fetch'(call, args) {
        const url = textArgument(args, 0, 'The URL', URL_CHARS)
        return trafficOf(call).fetch(url, readOutgoing(args[1], limits.requestBytes))
      },
      async 'net.read'(call, args) {
        const bodyId = textArgument(args, 0, 'The name of a body', 32)
        return args[1] === 'drop' ? trafficOf(call).drop(bodyId) : trafficOf(call).read(bodyId)
      },
    },
    endCall(callId) {
      if (calls.has(callId)) end(callId, new BulkheadError('ToolCancelled', 'The call has ended, and its connections with it.'))
    },
    async close() {
      closed ??= new BulkheadError('ToolCancelled', 'The compartment was closed, and its connections with it.')
      for (const callId of [...calls.keys()]) end(callId, closed)
      await Promise.all(leaving)
    },
  }
}

/** So many at once. What taking a place returns gives it back, once. */
function places(count: number, of: string): () => () => void {
  let free = count
  return () => {
    if (free === 0) throw new BulkheadError('ResourceBusy', `The compartment has ${count} ${of} open. Wait for some of them.`)
    free--
    let held = true
    return () => {
      if (held) free++
      held = false
    }
  }
}
