/** The declaration file that Comlink ships for its adapter does not match the name of the `.mjs` file. */
declare module 'comlink/dist/esm/node-adapter.mjs' {
  import type { Endpoint } from 'comlink'
  import type { MessagePort, Worker } from 'node:worker_threads'

  export default function nodeEndpoint(port: MessagePort | Worker): Endpoint
}
