// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration cannot be imported
/// <reference path="./comlink-esm.d.ts" />
// The ES module build on purpose: it is one text that can be handed to a compartment, and a copy of Comlink apart from
// the one an embedder may use, so that taking its transfer handlers away harms nobody.
import * as Comlink from 'comlink/dist/esm/comlink.mjs'
import type { Json, WireError } from '@bulkhead/contract'
import { RemoteError, toWireError } from './remote-error.ts'

export interface Endpoint {
  postMessage(message: unknown): void
  addEventListener(type: string, listener: MessageListener): void
  removeEventListener(type: string, listener: MessageListener): void
}
export type MessageListener = (event: { readonly data: unknown }) => void

const { canHandle } = Comlink.transferHandlers.get('throw')!
// No proxies, no callbacks, nothing alive: of the handlers only `throw` stays, with errors as data.
Comlink.transferHandlers.clear()
Comlink.transferHandlers.set('throw', {
  canHandle,
  serialize: ({ value }) => [{ isError: true, value: toWireError(value) }, []],
  deserialize: (thrown) => {
    throw new RemoteError((thrown as { readonly value: WireError }).value)
  },
})

export type RemoteMethod = (...args: readonly unknown[]) => Promise<Json>

/**
 * The methods of the other side by name. Proxies are made once and kept: Comlink counts them by garbage collection and
 * would release the endpoint when the last one is gone.
 */
export function wrap(endpoint: Endpoint): (method: string) => RemoteMethod {
  const remote = Comlink.wrap(endpoint) as Readonly<Record<string, RemoteMethod>>
  const kept = new Map<string, RemoteMethod>()
  return (name) => {
    const method = kept.get(name) ?? remote[name]!
    kept.set(name, method)
    return method
  }
}

/** Contract: `endpoint` must let nothing through but calls of the named methods with plain arguments. */
export function expose(methods: object, endpoint: Endpoint): void {
  Comlink.expose(methods, endpoint)
}
