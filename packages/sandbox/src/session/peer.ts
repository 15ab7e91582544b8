import type { CompartmentLimits, CompartmentRequest, CompartmentUse, ExtensionModule } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError, COMPARTMENT_LIMITS, MANIFEST_LIMITS } from '@bulkhead/contract'
import { JSON_LIMITS } from '@bulkhead/kit/json'
import type { Broker } from '@bulkhead/broker'
import { ExtensionRunner, type RunnerMethods } from '../extension/extension-runner.ts'
import type { Hull, HullExit } from '../process/hull.ts'
import { RemoteError, toWireError } from '../wire/errors.ts'
import { FrameTooLarge } from '../wire/frame.ts'
import { Link } from '../wire/link.ts'
import type { CompartmentMethods, LoadRequest } from '../wire/protocol.ts'
import { expose, Remote, type ReplyHandler } from '../wire/rpc.ts'
import { packetTooLarge } from './errors.ts'
import { Gate } from './gate.ts'
import { limitRequests } from './request-limits.ts'

/** The code of an extension as the host reaches it, in any placement. Replies are unchecked, and may never come. */
export interface Peer {
  load(request: LoadRequest): Promise<Json>
  call<Method extends CalledMethod>(method: Method, ...args: Parameters<CompartmentMethods[Method]>): Promise<Json>
  execute(args: Parameters<CompartmentMethods['execute']>, handler: ReplyHandler): void
  /** Idempotent. All open requests fail with this error, and all later ones. */
  endAll(error: BulkheadError): void
  /** Whether a request sent now can still reach it. */
  readonly isReachable: boolean
  /** Whether code that does not stop can be killed. */
  readonly killable: boolean
  /** Settles once, never rejects, when it is unusable: with the reason, or without one after `kill`. */
  readonly ended: Promise<BulkheadError | undefined>
  /** Settles once, never rejects, when nothing of it is left. */
  readonly gone: Promise<void>
  /** Settles once, never rejects: true when it can load code, false when it ended before. */
  readonly ready: Promise<boolean>
  /** Of its own process or thread. Absent: it has none. */
  use?(): Promise<CompartmentUse | undefined>
  /** Idempotent. */
  kill(): void
}

/** What a session calls, apart from `execute`. */
export type CalledMethod = Exclude<keyof CompartmentMethods, 'load' | 'execute'>

/** The socket of a worker closes shortly before its hull reports why it ended. */
const EXIT_REPORT_MS = 10_000

/** Room for the largest message, which is a whole package. */
const MAX_QUEUED_BYTES = 2 * MANIFEST_LIMITS.packageBytes

/** Code in a hull, behind the gate. */
export function remotePeer(hull: Hull, broker: Broker, limits: CompartmentLimits): Peer {
  const ended = Promise.withResolvers<BulkheadError | undefined>()
  let killLater: NodeJS.Timeout | undefined
  let isReachable = true
  const requests = limitRequests(broker.methods, () => hull.transport.queuedBytes)
  const link = new Link(hull.transport, {
    inspector: new Gate(limits),
    maxMessageBytes: Infinity,
    maxQueuedBytes: MAX_QUEUED_BYTES,
    drained: () => requests.resume(),
    closed(reason) {
      isReachable = false
      if (reason === undefined) {
        killLater = setTimeout(() => hull.kill(), EXIT_REPORT_MS)
        return
      }
      const isTooLarge = reason instanceof FrameTooLarge
      ended.resolve(isTooLarge ? packetTooLarge(limits) : BulkheadError.from(reason, 'BoundaryViolation'))
      hull.kill()
    },
  })
  const gone = hull.exited.then((exit) => {
    clearTimeout(killLater)
    link.close()
    ended.resolve(exitError(exit))
  })
  expose(requests.methods, link.broker)
  const remote = new Remote(link.call)
  return {
    load: (request) => remote.call('load', request),
    call: (method, ...args) => remote.call(method, ...args),
    execute: (args, handler) => remote.request('execute', args, handler),
    endAll: (error) => remote.end(error),
    get isReachable() {
      return isReachable
    },
    killable: true,
    ready: hull.ready,
    ended: ended.promise,
    gone,
    ...(hull.use && { use: () => hull.use!() }),
    kill() {
      ended.resolve(undefined)
      // Without it Comlink's registry of proxies would keep this peer for ever.
      remote.end(exitError({ kind: 'killed' }))
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
      return new BulkheadError('CompartmentCrashed', `The compartment crashed: ${exit.text.replace(/\.$/, '')}.`, {
        ...(exit.stack !== undefined && {
          cause: new RemoteError({ name: 'Error', message: exit.text, stack: exit.stack }),
        }),
      })
    case 'killed':
      return new BulkheadError('CompartmentCrashed', 'The compartment closed its connection.')
  }
}

/** A built-in module in the host's own thread: the same runtime and the same broker, without a boundary. */
export function inlinePeer(
  module: ExtensionModule, broker: Broker, { limits }: Pick<CompartmentRequest, 'limits'>,
): Peer {
  const ended = Promise.withResolvers<BulkheadError | undefined>()
  const open = new Set<ReplyHandler>()
  let over: BulkheadError | undefined
  let runner: ExtensionRunner | undefined
  const run = async (method: keyof CompartmentMethods, args: readonly unknown[]): Promise<Json> => {
    if (runner === undefined) {
      throw new BulkheadError('LifecyclePhaseInvalid', 'The module was called before it was loaded.')
    }
    const implementation = runner[method as keyof RunnerMethods] as (...args: readonly unknown[]) => Promise<Json>
    return implementation.call(runner, ...args)
  }
  const request = (method: keyof CompartmentMethods, args: readonly unknown[], handler: ReplyHandler): void => {
    if (over !== undefined) return handler.failed(over)
    open.add(handler)
    run(method, args).then((value) => {
      if (open.delete(handler)) handler.answered(value)
    }, (error: unknown) => {
      // In the form it would have after a boundary, so that it is handled the same way.
      if (open.delete(handler)) handler.failed(new RemoteError(toWireError(error)))
    })
  }
  return {
    async load({ config, tools }) {
      runner = new ExtensionRunner({
        module,
        config,
        tools,
        callBroker: (method, callId, ...args) => broker.methods[method](callId, ...args as readonly Json[]),
        output: { maxDepth: JSON_LIMITS.maxDepth, maxNodes: JSON_LIMITS.maxNodes, maxBytes: limits.outputBytes },
        messageBytes: limits.messageBytes,
      })
      return runner.reply as unknown as Json
    },
    call: (method, ...args) => new Promise((answered, failed) => request(method, args, { answered, failed })),
    execute: (args, handler) => request('execute', args, handler),
    endAll(error) {
      over ??= error
      const handlers = [...open]
      open.clear()
      for (const handler of handlers) handler.failed(over)
    },
    isReachable: true,
    killable: false,
    ready: Promise.resolve(true),
    ended: ended.promise,
    gone: ended.promise.then(() => undefined),
    kill: () => ended.resolve(undefined),
  }
}
