/** Comlink ships the declaration of its adapter under a name that resolution does not find beside the `.mjs`. */
declare module 'comlink/dist/esm/node-adapter.mjs' {
  import type { Endpoint } from 'comlink'
  import type { MessagePort, Worker } from 'node:worker_threads'

  export default function nodeEndpoint(port: MessagePort | Worker): Endpoint
}
