import type { CompartmentLimits } from '@bulkhead/contract'
import { BulkheadError, COMPARTMENT_LIMITS, MANIFEST_LIMITS } from '@bulkhead/contract'
import type { Broker } from '@bulkhead/broker'
import { expose } from '../wire/comlink.ts'
import { FrameTooLarge } from '../wire/frame.ts'
import { Link } from '../wire/link.ts'
import { Remote } from '../wire/remote.ts'
import { boundedRequests } from './bounded-requests.ts'
import { Gate } from './gate.ts'
import type { Hull, HullExit } from '../process/hull.ts'
import { tooLarge } from './message-size.ts'
import { PacedReads } from './paced-reads.ts'
import type { Peer } from './peer.ts'

/** A worker that ends hangs up a little before its hull can say why. */
const LAST_WORDS_MS = 2_000

/** Room for the largest thing that is ever sent at once, which is a whole package. */
const MAX_QUEUED_BYTES = 2 * MANIFEST_LIMITS.packageBytes

/** The code in a hull, behind the gate: Comlink for the conversation, nothing it says taken on trust. */
export function remotePeer(hull: Hull, broker: Broker, limits: CompartmentLimits): Peer {
  const ended = Promise.withResolvers<BulkheadError | undefined>()
  let hangUp: NodeJS.Timeout | undefined
  let isReachable = true
  const reads = new PacedReads(broker.methods, () => hull.transport.queuedBytes)
  const link = new Link(hull.transport, {
    inspector: new Gate(limits),
    maxMessageBytes: Infinity,
    maxQueuedBytes: MAX_QUEUED_BYTES,
    drained: () => reads.goOn(),
    closed(reason) {
      isReachable = false
      if (reason === undefined) {
        hangUp = setTimeout(() => hull.kill(), LAST_WORDS_MS)
        return
      }
      ended.resolve(reason instanceof FrameTooLarge ? tooLarge(limits) : BulkheadError.from(reason, 'BoundaryViolation'))
      hull.kill()
    },
  })
  const gone = hull.exited.then((exit) => {
    clearTimeout(hangUp)
    link.close()
    ended.resolve(exitError(exit))
  })
  // What waits for its turn is held as well.
  expose(boundedRequests(reads.methods), link.broker)
  const remote = new Remote(link.call)
  return {
    load: (request) => remote.call('load', request),
    ask: (method, args, question) => remote.ask(method, args, question),
    endAll: (error) => remote.end(error),
    get isReachable() {
      return isReachable
    },
    killable: true,
    ready: hull.ready,
    ended: ended.promise,
    gone,
    kill() {
      ended.resolve(undefined)
      link.close()
      hull.kill()
    },
  }
}

function exitError(exit: HullExit): BulkheadError {
  switch (exit.kind) {
    case 'memory':
      return new BulkheadError(
        COMPARTMENT_LIMITS[exit.limit].error,
        `The compartment used too much memory: ${exit.text}. Ask for less, or raise its limits.`,
        { data: { limit: exit.limit } },
      )
    case 'cpu':
      return new BulkheadError(
        'CompartmentOverloaded',
        `The compartment used too much processor time: ${exit.text}. Ask for less, or raise its limits.`,
        { data: { limit: 'cpuMs' } },
      )
    case 'crashed':
      return new BulkheadError('CompartmentCrashed', `The compartment ended by itself: ${exit.text}.`)
    case 'killed':
      return new BulkheadError('CompartmentCrashed', 'The compartment hung up.')
  }
}
