import type { CompartmentLoadRequest, CompartmentRequest, ExtensionModule, Json } from '@bulkhead/contract'
import { BulkheadError, JSON_LIMITS } from '@bulkhead/contract'
import { Resident } from '../extension/resident.ts'
import { RemoteError, toWireError } from '../wire/remote-error.ts'
import type { Broker } from './broker/broker.ts'
import type { Peer } from './peer.ts'

/** A module of ours in the host's own thread: the same runtime over the same broker, and nothing between. */
export function inlinePeer(module: ExtensionModule, broker: Broker, { limits }: Pick<CompartmentRequest, 'limits'>): Peer {
  const ended = Promise.withResolvers<BulkheadError | undefined>()
  let resident: Resident | undefined
  const loaded = (): Resident => {
    if (resident === undefined) {
      throw new BulkheadError('LifecyclePhaseInvalid', 'A module was asked to run before it was loaded.')
    }
    return resident
  }
  return {
    async load({ config, tools }: CompartmentLoadRequest) {
      resident = new Resident({
        module,
        config,
        tools,
        ask: (method, callId, ...args) => broker.methods[method](callId, ...args as readonly Json[]),
        output: { maxDepth: JSON_LIMITS.maxDepth, maxNodes: JSON_LIMITS.maxNodes, maxBytes: limits.outputBytes },
      })
      return resident.reply as unknown as Json
    },
    lifecycle: (phase) => asFromAfar(() => loaded().lifecycle(phase)),
    execute: (callId, tool, args) => asFromAfar(() => loaded().execute(callId, tool, args)),
    deriveApprovalKey: (tool, args) => asFromAfar(() => loaded().deriveApprovalKey(tool, args)),
    abort: (callId, reason) => asFromAfar(() => loaded().abort(callId, reason)),
    killable: false,
    ended: ended.promise,
    gone: ended.promise.then(() => undefined),
    kill: () => ended.resolve(undefined),
  }
}

/** What is thrown looks the same as if it had crossed a boundary, so that it is judged the same. */
async function asFromAfar<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new RemoteError(toWireError(error))
  }
}
