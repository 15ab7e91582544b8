import type { CompartmentRequest, ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { Broker, isResourceShortage, resourceShortage, refuseUnenforceable, type BrokerOptions } from '@bulkhead/broker'
import { AwakeDeadline } from './awake-deadline.ts'
import { inlinePeer } from './inline-peer.ts'
import { judgeError, LOAD_CODES } from './compartment-error.ts'
import { judgeOffers, loadRequest } from './load.ts'
import type { Peer } from './peer.ts'
import type { Pools } from '../pool/pools.ts'
import { remotePeer } from './remote-peer.ts'
import type { RestingSession } from './resting-session.ts'
import { Session } from './session.ts'

/** What opens a compartment can always be given up. */
export type OpenRequest = CompartmentRequest & { readonly signal: AbortSignal }

/** From a request to a running session. Rejects with the reason and leaves nothing behind. */
export async function openCompartment(
  request: OpenRequest, workspace: string, pools: Pools, options: BrokerOptions,
): Promise<RestingSession> {
  for (const tool of request.tools) refuseUnenforceable(tool, request.services)
  const broker = new Broker(request, workspace, options)
  const peer = await place(request, broker, pools).catch((error: unknown) => {
    // In line for a place it is given up with the reason as it was given.
    if (request.signal.aborted) throw BulkheadError.from(request.signal.reason, 'ToolCancelled')
    throw BulkheadError.is(error) ? error : notStarted(request, error)
  })
  try {
    return await startSession(request, broker, peer)
  } finally {
    if (request.placement !== 'inline') pools[request.placement].refill(request.limits)
  }
}

/** Loads the code into a peer that was started for it, and judges what it offers. */
export async function startSession(request: CompartmentRequest, broker: Broker, peer: Peer): Promise<RestingSession> {
  const { limits, extension, signal } = request
  const stop = Promise.withResolvers<never>()
  stop.promise.catch(() => undefined)
  const abort = (): void => stop.reject(BulkheadError.from(signal?.reason, 'ToolCancelled'))
  const deadline = new AwakeDeadline(limits.startMs, () => {
    const why = `The code of ${extension.id} was not imported within ${limits.startMs} ms.`
    stop.reject(new BulkheadError('CompartmentStartTimeout', why, { data: { limit: 'startMs' } }))
  })
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  const died = peer.ended.then((error): never => {
    throw error ?? new BulkheadError('CompartmentCrashed', 'The compartment ended before its code was imported.')
  })
  died.catch(() => undefined)
  let isReady = false
  void peer.ready.then((ready) => void (isReady = ready))
  try {
    const reply = await Promise.race([peer.load(loadRequest(request)), died, stop.promise])
    return new Session({ request, peer, broker, offers: judgeOffers(reply, request) })
  } catch (error) {
    peer.kill()
    await peer.gone
    const judged = judgeError(error, 'CompartmentStartFailed', LOAD_CODES)
    throw isReady || !WITHOUT_CODE.has(judged.code) ? judged : notStarted(request, judged)
  } finally {
    deadline.stop()
    signal?.removeEventListener('abort', abort)
  }
}

/** How a place ends that has not come as far as the code of an extension. */
const WITHOUT_CODE: ReadonlySet<ErrorCode> = new Set(['CompartmentCrashed', 'CompartmentStartTimeout'])

/**
 * Node itself refused, as it does to a host that was started with --permission and may start neither threads nor processes; or
 * the system had no room, which is no fault of the extension.
 */
function notStarted({ placement, extension }: CompartmentRequest, error: unknown): BulkheadError {
  const what = `No ${placement} could be started for ${extension.id}`
  const { code, message } = BulkheadError.from(error)
  if (WITHOUT_CODE.has(code) || isResourceShortage(error)) return resourceShortage(what, message.replace(/\.$/, ''), error)
  return new BulkheadError('CompartmentStartFailed', `${what}: ${message}`, { cause: error })
}

async function place(request: OpenRequest, broker: Broker, pools: Pools): Promise<Peer> {
  const { placement, code, limits, extension, signal } = request
  if (placement === 'inline') {
    if (code.kind !== 'module') {
      throw new BulkheadError(
        'CompartmentStartFailed',
        `${extension.id} is not a module of ours and is never run in the host's own thread.`,
      )
    }
    return inlinePeer(code.module, broker, request)
  }
  if (code.kind !== 'files') {
    throw new BulkheadError('CompartmentStartFailed', `${extension.id} has no files to run in a ${placement}.`)
  }
  return remotePeer(await pools[placement].open(limits, signal), broker, limits)
}
