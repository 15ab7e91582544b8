// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration cannot be imported
/// <reference path="./comlink-esm.d.ts" />
// The ES module build on purpose: it is one text that can be handed to a compartment, and a copy of Comlink apart from
// the one an embedder may use, so that taking its transfer handlers away harms nobody.
import * as Comlink from 'comlink/dist/esm/comlink.mjs'
import type { WireError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Conversation } from './conversation.ts'
import { RemoteError, toWireError } from './remote-error.ts'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { then } = Promise.prototype

const { canHandle } = Comlink.transferHandlers.get('throw')!
// No proxies, no callbacks, nothing alive: of the handlers only `throw` stays, with errors as data.
Comlink.transferHandlers.clear()
Comlink.transferHandlers.set('throw', {
  canHandle,
  serialize: ({ value }) => [toWireError(value), []],
  deserialize: (thrown) => {
    throw new RemoteError(thrown as WireError)
  },
})

type Reply = { readonly id: number } & (
  | { readonly type: 'RAW'; readonly value: Json }
  | { readonly type: 'HANDLER'; readonly value: WireError }
)

/** A method that is asked for so often that the way through Comlink, a tenth of a short call, would count. */
export interface Frequent {
  readonly method: string
  readonly answer: (args: readonly Json[]) => Promise<Json>
}

/**
 * Lets Comlink answer what is asked in the conversation, but for the frequent method. It would walk any path and construct
 * what it finds there, so it is never given a message of the other side: each is made here, and can be nothing but a call of
 * one method with values.
 */
export function expose(methods: object, conversation: Conversation, frequent?: Frequent): void {
  Comlink.expose(methods, {
    addEventListener: (_type, listener) => conversation.listen({
      asked(id, method, args) {
        if (method === frequent?.method) return answerDirectly(conversation, id, args, frequent.answer)
        listener({ data: { id, type: 'APPLY', path: [method], argumentList: args.map(raw) } })
      },
    }),
    removeEventListener: () => undefined,
    postMessage(message) {
      const reply = message as Reply
      if (reply.type === 'HANDLER') return conversation.fail(reply.id, reply.value)
      try {
        conversation.answer(reply.id, reply.value)
      } catch (error) {
        // Comlink would say no more than that it could not be sent.
        conversation.fail(reply.id, toWireError(error))
      }
    },
  })
}

function answerDirectly(conversation: Conversation, id: number, args: readonly Json[], answer: Frequent['answer']): void {
  const fail = (error: unknown): void => {
    try {
      conversation.fail(id, toWireError(error))
    } catch (refused) {
      // An error can be too large as well.
      conversation.fail(id, toWireError(refused))
    }
  }
  try {
    void then.call(answer(args), (value: Json) => {
      try {
        conversation.answer(id, value)
      } catch (error) {
        // What it would not send, such as one that is too large.
        fail(error)
      }
    }, fail)
  } catch (error) {
    fail(error)
  }
}

const raw = (value: Json): { readonly type: 'RAW'; readonly value: Json } => ({ type: 'RAW', value })
