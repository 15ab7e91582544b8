import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CompartmentSession } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { echoRequest } from '../loads/echo.ts'

const READY = 'ready'
const ready = () => READY

/** From `new Worker` to its first message. */
const bareWorker = {
  name: 'bare new Worker',
  answer: ready,
  start: async (): Promise<Runner> => {
    let worker: Worker | undefined
    return {
      run: async () => {
        worker = new Worker(`require('node:worker_threads').parentPort.postMessage('${READY}')`, { eval: true })
        const [message] = (await once(worker, 'message')) as [unknown]
        return message
      },
      between: async () => void (await worker?.terminate()),
      stop: async () => void (await worker?.terminate()),
    }
  },
} as const satisfies Side

/** From start to exit of a process that does nothing. */
const bareNode = {
  name: 'bare node -e 0',
  answer: ready,
  start: async (): Promise<Runner> => ({
    run: async () => {
      const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })
      const [code] = (await once(child, 'exit')) as [number | null]
      return code === 0 ? READY : code
    },
    stop: async () => {},
  }),
} as const satisfies Side

/** From `open` to a session whose code is imported and compared with its manifest. Cold: without spares. */
function activation<const Name extends string>(name: Name, placement: 'thread' | 'process', spares: 0 | 1) {
  return {
    name,
    answer: ready,
    start: async (): Promise<Runner> => {
      const sandbox = createSandbox({ workspace: '/', spares: { [placement]: spares } })
      const request = await echoRequest(placement)
      await sandbox.warm(placement, request.limits)
      let session: CompartmentSession | undefined
      return {
        run: async () => {
          session = await sandbox.open(request)
          return READY
        },
        between: async () => {
          await session?.close()
          await sandbox.warm(placement, request.limits)
        },
        stop: () => sandbox.close(),
      }
    },
  } as const satisfies Side<Name>
}

const warmThread = activation('thread from a warm spare', 'thread', 1)
const coldThread = activation('cold thread', 'thread', 0)
const warmProcess = activation('process from a warm spare', 'process', 1)
const coldProcess = activation('cold process', 'process', 0)

export const sandboxStart = defineSubject({
  title: 'Opening a compartment: start, lockdown, import of the code and comparison with the manifest',
  compares: 'A host that has opened one before, with all isolation features of this system, against empty threads and '
    + 'processes. A cold process is an isolated Node with a thread; without code, this alone takes 1.8 × a bare node.',
  sides: [bareWorker, bareNode, warmThread, coldThread, warmProcess, coldProcess],
  modes: [{ kind: 'latency' }],
  ratios: [
    { side: 'thread from a warm spare', measure: 'p50', against: 'bare new Worker' },
    { side: 'process from a warm spare', measure: 'p50', against: 'bare new Worker' },
    { side: 'cold thread', measure: 'p50', against: 'bare new Worker' },
    { side: 'cold process', measure: 'p50', against: 'bare node -e 0' },
  ],
  rounds: 12,
})
