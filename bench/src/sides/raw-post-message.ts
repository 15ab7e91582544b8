import type { Runner, Side } from '../harness/subject.ts'
import type { Payload } from '../loads/payload.ts'
import { payload } from '../loads/payload.ts'
import { startPeerThread } from './peer-thread.ts'

/** The floor: a thread that posts back what it is sent. Messages of a port keep their order, so a queue is all it needs. */
export const rawPostMessageOf = (carried: Payload) => ({
  name: 'raw postMessage round trip',
  answer: carried,
  start: async (): Promise<Runner> => {
    const { worker, died, stop } = await startPeerThread(new URL('../peers/raw-echo.ts', import.meta.url))
    const waiting: ((answer: unknown) => void)[] = []
    worker.on('message', (message) => waiting.shift()?.(message))
    const run = (i: number) => new Promise<unknown>((resolve) => {
      waiting.push(resolve)
      worker.postMessage(carried(i))
    })
    return { run, died, stop }
  },
} as const satisfies Side)

export const rawPostMessage = rawPostMessageOf(payload)
