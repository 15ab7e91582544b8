import type { CompartmentRequest, ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { Broker, isResourceShortage, resourceShortage, refuseUnenforceable, type BrokerOptions } from '@bulkhead/broker'
import { AwakeDeadline } from './awake-deadline.ts'
import { compartmentError, ON_LOAD } from './errors.ts'
import { checkOffers, loadRequest } from './load.ts'
import { inlinePeer, remotePeer, type Peer } from './peer.ts'
import type { Pools } from '../pool/pools.ts'
import { Residency } from './residency.ts'
import { Session } from './session.ts'

/** An opening can always be cancelled. */
export type OpenRequest = CompartmentRequest & { readonly signal: AbortSignal }

/** Opens a compartment and loads its code. Rejects with the reason and leaves nothing behind. */
export async function openCompartment(
  request: OpenRequest, residency: Residency, workspace: string, pools: Pools, options: BrokerOptions,
): Promise<Session> {
  for (const tool of request.tools) refuseUnenforceable(tool, request.services)
  const broker = new Broker(request, workspace, options)
  const peer = await place(request, broker, pools).catch((error: unknown) => {
    // Cancelled while it waited for a place: the caller gets its own reason.
    if (request.signal.aborted) throw BulkheadError.from(request.signal.reason, 'ToolCancelled')
    throw BulkheadError.is(error) ? error : notStarted(request, error)
  })
  try {
    return await startSession(request, broker, peer, residency)
  } finally {
    if (request.placement !== 'inline') pools[request.placement].refill(request.limits)
  }
}

/** Loads the code into a started peer, and checks what it offers. */
export async function startSession(
  request: CompartmentRequest, broker: Broker, peer: Peer, residency = new Residency(),
): Promise<Session> {
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
    return new Session({ request, peer, broker, offers: checkOffers(reply, request), residency })
  } catch (error) {
    peer.kill()
    await peer.gone
    const reason = compartmentError(error, ON_LOAD)
    throw isReady || !WITHOUT_CODE.has(reason.code) ? reason : notStarted(request, reason)
  } finally {
    deadline.stop()
    signal?.removeEventListener('abort', abort)
  }
}

/** Errors of a hull that ended before it could load code. */
const WITHOUT_CODE: ReadonlySet<ErrorCode> = new Set(['CompartmentCrashed', 'CompartmentStartTimeout'])

/**
 * The hull did not start: Node refused, as it does in a host started with --permission and without the right to start threads or
 * processes; or the system is out of resources, which is no fault of the extension.
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
        `${extension.id} is not a built-in module and cannot run in the host's own thread.`,
      )
    }
    return inlinePeer(code.module, broker, request)
  }
  if (code.kind !== 'files') {
    throw new BulkheadError('CompartmentStartFailed', `${extension.id} has no files to run in a ${placement}.`)
  }
  return remotePeer(await pools[placement].open(limits, signal), broker, limits)
}
