import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { MessageChannel, Worker } from 'node:worker_threads'
import * as Comlink from 'comlink'
import type { Attack, Outcome } from '../model/case.ts'
import type { Facts } from '../target/facts.ts'

/** Some attacks end without a reply. */
const PATIENCE_MS = 8_000

/**
 * Runs an attack against a host without a gate: one that exposes an object with plain Comlink, or accepts messages of a
 * thread unchecked. The thread has no permissions.
 */
export async function attackBareHost(attack: Attack, facts: Facts): Promise<Outcome> {
  return attack.in === 'wire' ? attackBareComlink(attack, facts) : attackBarePort(attack, facts)
}

async function attackBareComlink({ body }: Attack, facts: Facts): Promise<Outcome> {
  const { port1: ours, port2: theirs } = new MessageChannel()
  Comlink.expose({ progress: () => null, 'fs.read': () => null }, ours as unknown as Comlink.Endpoint)
  const code = await readFile(new URL('../extensions/hostile-worker.js', import.meta.url), 'utf8')
  const source = `export default async (facts, wire) => {\n${body}\n}`
  const worker = threadOf(code, { port: theirs, bare: { source, facts } }, [theirs])
  const patience = AbortSignal.timeout(PATIENCE_MS)
  await once(worker, 'message', { signal: patience }).catch((error: unknown) => {
    if (!patience.aborted) throw error
  })
  await worker.terminate()
  ours.close()
  return { returned: null }
}

/** The value arrives unchecked. */
async function attackBarePort({ body }: Attack, facts: Facts): Promise<Outcome> {
  const worker = threadOf(`
    import { parentPort, workerData } from 'node:worker_threads'
    const runtime = { progress() {}, update() {} }
    const attack = async (facts) => {\n${body}\n}
    parentPort.postMessage({ value: await attack(workerData) })
  `, facts, [])
  const [message] = await once(worker, 'message') as [{ readonly value: unknown }]
  await worker.terminate()
  return { returned: { got: typeof message.value } }
}

const threadOf = (code: string, workerData: unknown, transferList: MessagePort[]): Worker =>
  new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    execArgv: ['-i', '--permission', '--no-warnings'], env: {}, workerData, transferList: transferList as never,
  })
