import type { CompartmentLoadRequest, CompartmentMethods, CompartmentRequest, ExtensionModule } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { JSON_LIMITS } from '@bulkhead/kit/json'
import type { Broker } from '@bulkhead/broker'
import type { ResidentMethods } from '../extension/extension-runner.ts'
import { Resident } from '../extension/extension-runner.ts'
import type { Question } from '../wire/remote.ts'
import { RemoteError, toWireError } from '../wire/remote-error.ts'
import type { Peer } from './peer.ts'

/** A module of ours in the host's own thread: the same runtime over the same broker, and nothing between. */
export function inlinePeer(module: ExtensionModule, broker: Broker, { limits }: Pick<CompartmentRequest, 'limits'>): Peer {
  const ended = Promise.withResolvers<BulkheadError | undefined>()
  const open = new Set<Question>()
  let over: BulkheadError | undefined
  let resident: Resident | undefined
  const answer = async (method: keyof CompartmentMethods, args: readonly unknown[]): Promise<Json> => {
    if (resident === undefined) {
      throw new BulkheadError('LifecyclePhaseInvalid', 'A module was asked to run before it was loaded.')
    }
    const asked = resident[method as keyof ResidentMethods] as (...args: readonly unknown[]) => Promise<Json>
    return asked.call(resident, ...args)
  }
  return {
    async load({ config, tools }: CompartmentLoadRequest) {
      resident = new Resident({
        module,
        config,
        tools,
        ask: (method, callId, ...args) => broker.methods[method](callId, ...args as readonly Json[]),
        output: { maxDepth: JSON_LIMITS.maxDepth, maxNodes: JSON_LIMITS.maxNodes, maxBytes: limits.outputBytes },
        messageBytes: limits.messageBytes,
      })
      return resident.reply as unknown as Json
    },
    ask(method, args, question) {
      if (over !== undefined) return question.failed(over)
      open.add(question)
      answer(method, args).then((value) => {
        if (open.delete(question)) question.answered(value)
      }, (error: unknown) => {
        // What is thrown looks the same as if it had crossed a boundary, so that it is judged the same.
        if (open.delete(question)) question.failed(new RemoteError(toWireError(error)))
      })
    },
    endAll(error) {
      over ??= error
      const questions = [...open]
      open.clear()
      for (const question of questions) question.failed(over)
    },
    isReachable: true,
    killable: false,
    ready: Promise.resolve(true),
    ended: ended.promise,
    gone: ended.promise.then(() => undefined),
    kill: () => ended.resolve(undefined),
  }
}
