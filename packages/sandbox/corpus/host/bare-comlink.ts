import { readFile } from 'node:fs/promises'
import { MessageChannel, Worker } from 'node:worker_threads'
import * as Comlink from 'comlink'
import type { Attack } from '../case.ts'
import type { Facts } from '../ground/facts.ts'

/** Long enough for a message, its answer and a second message. */
const WATCH_MS = 250

/**
 * Comlink as it is published, exposing an object like the broker's to a thread that has no right of its own. What the
 * attack does to it shows what the gate is for.
 */
export async function attackBareComlink({ body }: Attack, facts: Facts): Promise<void> {
  const { port1: ours, port2: theirs } = new MessageChannel()
  Comlink.expose({ progress: () => null, 'fs.read': () => null }, ours as unknown as Comlink.Endpoint)
  const code = await readFile(new URL('../extensions/hostile-worker.js', import.meta.url), 'utf8')
  const source = `export default async (facts, wire) => {\n${body}\n}`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    execArgv: ['-i', '--permission', '--no-warnings'],
    env: {},
    workerData: { port: theirs, bare: { source, facts } },
    transferList: [theirs],
  })
  await new Promise((later) => setTimeout(later, WATCH_MS))
  await worker.terminate()
  ours.close()
}
