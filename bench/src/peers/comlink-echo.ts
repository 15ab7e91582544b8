import { parentPort } from 'node:worker_threads'
import { expose } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import type { EchoArguments } from '../loads/payload.ts'

const peer = {
  echo: (args: EchoArguments): EchoArguments => args,
}

export type EchoPeer = typeof peer

if (parentPort === null) throw new Error('This peer must run in a worker thread.')
expose(peer, nodeEndpoint(parentPort))
