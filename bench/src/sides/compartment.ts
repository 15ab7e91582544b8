import { createSandbox } from '@bulkhead/sandbox'
import type { Runner, Side } from '../harness/subject.ts'
import { echoRequest } from './echo-request.ts'
import type { Payload } from './payload.ts'

/** A tool in its compartment, called as the host's pipeline does it: each call with a signal of its own. */
const compartmentIn = <const Placement extends 'thread' | 'process'>(placement: Placement, carried: Payload) => ({
  name: `compartment in a ${placement}`,
  answer: carried,
  start: async (): Promise<Runner> => {
    const sandbox = createSandbox({ workspace: '/' })
    const session = await sandbox.open(await echoRequest(placement))
    const died = session.ended.then((end): never => {
      throw end.kind === 'failed' ? end.error : new Error('it was closed')
    })
    died.catch(() => {}) // It rejects while nobody waits: at the latest when it is closed.
    const run = (i: number) =>
      session.call({ callId: `c${i}`, tool: 'echo', args: carried(i), signal: new AbortController().signal })
    return { run, died, stop: () => sandbox.close() }
  },
} as const satisfies Side)

export const threadCompartmentOf = (carried: Payload) => compartmentIn('thread', carried)
export const processCompartmentOf = (carried: Payload) => compartmentIn('process', carried)
