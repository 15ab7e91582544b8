import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { stringArgument, type CapabilityUnit, type OpenCall } from '../model/capability.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { CallTraffic, type NetContext } from './call-traffic.ts'
import { systemLookup, type Lookup } from './connect.ts'
import { DecoderMemory } from './response-body.ts'
import { NET_LIMITS, type NetLimits } from './limits.ts'
import { readRequest, SAFE } from './request.ts'
import { URL_CHARS } from '../hosts/url-policy.ts'

export interface NetOptions {
  /** Resolves names. Default: the resolver of the system. */
  readonly lookup?: Lookup
  /** CA certificates to trust instead of the system's, in PEM. */
  readonly ca?: string
  readonly limits?: Partial<NetLimits>
  /** The port of a server on the loopback interface that answers for every host. */
  readonly answeredBy?: number | undefined
  /** Replaces handles in requests, and redacts responses. */
  readonly secrets?: SecretsCapability | undefined
}

/** Requests over http and https to the hosts of the grant. No proxy, no cookies, no cache. */
export function netCapability(
  { lookup = systemLookup, ca, limits: given, secrets, answeredBy }: NetOptions,
): CapabilityUnit {
  const limits = { ...NET_LIMITS, ...given }
  const calls = new Map<string, { readonly traffic: CallTraffic; readonly forget: () => void }>()
  const closing = new Set<Promise<void>>()
  let closed: BulkheadError | undefined
  const requests = slots(limits.requestsAtOnce, 'requests')
  const lookups = slots(limits.lookupsAtOnce, 'DNS lookups')
  const compartment: NetContext = {
    limits,
    ca,
    answeredBy,
    claim: requests,
    decoders: new DecoderMemory(limits.decoderBytes),
    async lookup(host) {
      const release = lookups()
      try {
        return await lookup(host)
      } finally {
        release()
      }
    },
  }

  const end = (callId: string, reason: BulkheadError): void => {
    const call = calls.get(callId)
    if (call === undefined) return
    calls.delete(callId)
    call.forget()
    const gone = call.traffic.end(reason)
    closing.add(gone)
    void gone.then(() => closing.delete(gone))
  }

  const trafficOf = (call: OpenCall): CallTraffic => {
    const { callId, tool, signal } = call
    const known = calls.get(callId)
    if (known !== undefined) return known.traffic
    if (closed !== undefined) throw closed
    const abort = (): void => end(callId, BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    signal.addEventListener('abort', abort, { once: true })
    const traffic = new CallTraffic(tool.grant, compartment, secrets?.of(callId), call)
    calls.set(callId, { traffic, forget: () => signal.removeEventListener('abort', abort) })
    return traffic
  }

  return {
    capabilities: {
      async 'net.fetch'(call, args) {
        const url = stringArgument(args, 0, 'The URL', URL_CHARS)
        const keyHeader = keyHeaderOf(call)
        const request = readRequest(args[1], limits.requestBytes, keyHeader)
        const { idempotencyKey } = call
        if (keyHeader === undefined || idempotencyKey === undefined || SAFE.has(request.method)) {
          return trafficOf(call).fetch(url, request)
        }
        const headers = new Map([...request.headers, [keyHeader, idempotencyKey]])
        return trafficOf(call).fetch(url, { ...request, headers })
      },
      async 'net.read'(call, args) {
        const bodyId = stringArgument(args, 0, 'The id of the body', 32)
        return args[1] === 'drop' ? trafficOf(call).drop(bodyId) : trafficOf(call).read(bodyId)
      },
    },
    endCall(callId) {
      if (!calls.has(callId)) return
      end(callId, new BulkheadError('ToolCancelled', 'The call has ended, so its connections were closed.'))
    },
    async close() {
      closed ??= new BulkheadError('ToolCancelled', 'The compartment was closed, so its connections were closed.')
      for (const callId of [...calls.keys()]) end(callId, closed)
      await Promise.all(closing)
    },
  }
}

/** In lower case, as the manifest names it. */
function keyHeaderOf({ tool: { requires: { net } } }: OpenCall): string | undefined {
  const name = isJsonObject(net) ? net['idempotencyHeader'] : undefined
  return typeof name === 'string' ? name.toLowerCase() : undefined
}

/** A counting semaphore that throws instead of waiting. Call the returned function to release the slot. */
function slots(count: number, of: string): () => () => void {
  let free = count
  return () => {
    if (free === 0) {
      throw new BulkheadError(
        'ResourceBusy',
        `The compartment already has ${count} ${of} open. Wait until one of them ends.`,
      )
    }
    free--
    let held = true
    return () => {
      if (held) free++
      held = false
    }
  }
}
