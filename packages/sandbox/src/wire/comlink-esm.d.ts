/** The ES module build of Comlink has no types of its own; these are the parts Bulkhead uses. */
declare module 'comlink/dist/esm/comlink.mjs' {
  interface TransferHandler {
    canHandle(value: unknown): boolean
    serialize(value: { readonly value: unknown }): [unknown, never[]]
    deserialize(value: unknown): unknown
  }
  export interface Endpoint {
    postMessage(message: unknown): void
    addEventListener(type: string, listener: (event: { readonly data: unknown }) => void): void
    removeEventListener(type: string, listener: (event: { readonly data: unknown }) => void): void
  }
  interface Released {
    readonly [releaseProxy]: () => void
  }
  export type RemoteMethod = Released & ((...args: readonly unknown[]) => Promise<import('@bulkhead/kit/json').Json>)
  export type Remote = Released & { readonly [method: string]: RemoteMethod }
  export const releaseProxy: unique symbol
  export const transferHandlers: Map<string, TransferHandler>
  export function expose(methods: object, endpoint: Endpoint): void
  export function wrap(endpoint: Endpoint): Remote
}
