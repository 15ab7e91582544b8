// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration cannot be imported
/// <reference path="./comlink-esm.d.ts" />
// The ES module build: it can be inlined into the script of a compartment, and it is a copy apart from one that an
// embedder may use, so clearing its transfer handlers affects no other code.
import * as Comlink from 'comlink/dist/esm/comlink.mjs'
import type { Json } from '@bulkhead/kit/json'
import { RemoteError, toWireError } from './errors.ts'
import type { Channel } from './link.ts'
import type { WireError } from './protocol.ts'

/** Captured before extension code runs, which could replace it. */
const { then } = Promise.prototype

const { canHandle } = Comlink.transferHandlers.get('throw')!
// No proxies and no callbacks cross: only `throw` stays, with errors as data.
Comlink.transferHandlers.clear()
Comlink.transferHandlers.set('throw', {
  canHandle,
  serialize: ({ value }) => [toWireError(value), []],
  deserialize: (error) => {
    throw error
  },
})

type Reply = { readonly id: number } & (
  | { readonly type: 'RAW'; readonly value: Json }
  | { readonly type: 'HANDLER'; readonly value: WireError }
)

/**
 * A method that is called without Comlink. Through Comlink a call of 100 bytes takes twice the processor time, 64
 * abreast (13 and 29 µs in a process, decision 2).
 */
export interface DirectMethod {
  readonly method: string
  readonly run: (args: readonly Json[]) => Promise<Json>
}

/**
 * Serves the requests of a channel with Comlink, except for the direct method. Comlink would walk any path of a message
 * and construct what it finds, so it never sees a message of the other side: each is rebuilt here as one call with
 * plain values.
 */
export function expose(methods: object, channel: Channel, direct?: DirectMethod): void {
  Comlink.expose(methods, {
    addEventListener: (_type, listener) => channel.listen({
      request(id, method, args) {
        if (method === direct?.method) return runDirectly(channel, id, args, direct.run)
        listener({ data: { id, type: 'APPLY', path: [method], argumentList: args.map(raw) } })
      },
    }),
    removeEventListener: () => undefined,
    postMessage(message) {
      const reply = message as Reply
      if (reply.type === 'HANDLER') return channel.sendError(reply.id, reply.value)
      try {
        channel.sendValue(reply.id, reply.value)
      } catch (error) {
        // Comlink would only report that the value could not be sent.
        channel.sendError(reply.id, toWireError(error))
      }
    },
  })
}

function runDirectly(channel: Channel, id: number, args: readonly Json[], run: DirectMethod['run']): void {
  const fail = (error: unknown): void => {
    try {
      channel.sendError(id, toWireError(error))
    } catch (refused) {
      // The error itself can be too large.
      channel.sendError(id, toWireError(refused))
    }
  }
  const succeed = (value: Json): void => {
    try {
      channel.sendValue(id, value)
    } catch (error) {
      fail(error)
    }
  }
  try {
    void then.call(run(args), succeed, fail)
  } catch (error) {
    fail(error)
  }
}

const raw = (value: Json): { readonly type: 'RAW'; readonly value: Json } => ({ type: 'RAW', value })

/** Gets the reply to one request, once. Contract: neither method throws. */
export interface ReplyHandler {
  answered(value: Json): void
  failed(error: unknown): void
}

/**
 * `handler` is removed with the reply. Node replaces the table of a busy Map again and again, and each old table would
 * keep its calls in memory until a full collection: 25 % of a guarded call with 64 abreast.
 */
interface OpenRequest {
  handler: ReplyHandler | undefined
}

/** Sends requests and matches their replies. */
class Requests {
  readonly #channel: Channel
  readonly #open = new Map<number, OpenRequest>()
  #lastId = 0
  ended: { readonly error: unknown } | undefined

  constructor(channel: Channel) {
    this.#channel = channel
    channel.listen({
      value: (id, value) => this.#take(id)?.answered(value),
      error: (id, error) => this.#take(id)?.failed(new RemoteError(error)),
    })
  }

  send(method: string, args: readonly unknown[], handler: ReplyHandler): void {
    if (this.ended !== undefined) return handler.failed(this.ended.error)
    const id = ++this.#lastId
    this.#open.set(id, { handler })
    try {
      this.#channel.sendRequest(id, method, args as readonly Json[])
    } catch (error) {
      this.#take(id)?.failed(error)
    }
  }

  end(error: unknown): void {
    this.ended = { error }
    for (const id of [...this.#open.keys()]) this.#take(id)?.failed(error)
  }

  #take(id: number): ReplyHandler | undefined {
    const request = this.#open.get(id)
    if (request === undefined) return undefined
    this.#open.delete(id)
    const { handler } = request
    request.handler = undefined
    return handler
  }
}

/**
 * What Comlink's `wrap` talks to. Its long ids stay on this side. When a request fails without a reply, Comlink gets one
 * from here, because it would leave the caller waiting. It holds no proxy, so that proxies can be collected.
 */
function requester(requests: Requests): Comlink.Endpoint {
  let deliver: (event: { readonly data: unknown }) => void
  return {
    addEventListener: (_type, listener) => void (deliver = listener),
    removeEventListener: () => undefined,
    postMessage(message) {
      const { id, type, path, argumentList } = message as Apply
      // Comlink also announces that a proxy was released.
      if (type !== 'APPLY') return
      requests.send(path[0], argumentList.map(({ value }) => value), {
        answered: (value) => deliver({ data: { id, type: 'RAW', value } }),
        failed: (error) => deliver({ data: { id, type: 'HANDLER', name: 'throw', value: error } }),
      })
    },
  }
}

interface Apply {
  readonly id: string
  readonly type: string
  readonly path: readonly [string]
  readonly argumentList: readonly { readonly value: unknown }[]
}

/** Calls the methods of the other side. */
export class Remote {
  readonly #requests: Requests
  readonly #root: Comlink.Remote
  /** Kept, because a proxy is made for each access. */
  readonly #methods = new Map<string, Comlink.RemoteMethod>()

  constructor(channel: Channel) {
    this.#requests = new Requests(channel)
    this.#root = Comlink.wrap(requester(this.#requests))
  }

  /** Through Comlink. */
  call(method: string, ...args: readonly unknown[]): Promise<Json> {
    if (this.#requests.ended !== undefined) return Promise.reject(this.#requests.ended.error)
    let proxy = this.#methods.get(method)
    if (proxy === undefined) {
      proxy = this.#root[method]!
      this.#methods.set(method, proxy)
    }
    return proxy(...args)
  }

  /** Past Comlink, for the direct method of the other side. */
  request(method: string, args: readonly unknown[], handler: ReplyHandler): void {
    this.#requests.send(method, args, handler)
  }

  /** Idempotent. All open requests fail with this error, and all later ones. */
  end(error: unknown): void {
    if (this.#requests.ended !== undefined) return
    this.#requests.end(error)
    for (const proxy of [this.#root, ...this.#methods.values()]) proxy[Comlink.releaseProxy]()
  }
}
