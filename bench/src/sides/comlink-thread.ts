import { wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import type { Runner, Side } from '../harness/subject.ts'
import type { EchoPeer } from '../peers/comlink-echo.ts'
import type { Payload } from '../loads/payload.ts'
import { payload } from '../loads/payload.ts'
import { startPeerThread } from './peer-thread.ts'

/** Comlink as its manual shows it: its own adapter for Node, one exposed object, nothing around it. */
export const comlinkThreadOf = (carried: Payload) => ({
  name: 'plain Comlink in a thread',
  answer: carried,
  start: async (): Promise<Runner> => {
    const { worker, died, stop } = await startPeerThread(new URL('../peers/comlink-echo.ts', import.meta.url))
    const peer = wrap<EchoPeer>(nodeEndpoint(worker))
    return { run: (i) => peer.echo(carried(i)), died, stop }
  },
} as const satisfies Side)

export const comlinkThread = comlinkThreadOf(payload)
