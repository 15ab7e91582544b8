import { Worker } from 'node:worker_threads'
import type { CompiledScript, WorkerStart } from '../wire/worker-start.ts'
import { threadOptions } from './hull.ts'
import type { Image } from './image.ts'

const HEAP_MB = 64

/**
 * The script with all of it compiled that a rehearsal needs, as V8 remembers it in a thread that rehearses and is ended. What
 * is started with it compiles next to nothing. Undefined when that does not work, which does no harm. Never rejects.
 */
export async function warmScript({ boot, script, author }: Image): Promise<CompiledScript | undefined> {
  const start: WorkerStart = { script, author, spare: true, readable: [], inHull: false }
  const worker = new Worker(boot, {
    ...threadOptions({ heapMb: HEAP_MB }), eval: true, stdout: true, stderr: true, workerData: { ...start, tellsCache: true },
  })
  const cache = await new Promise<Uint8Array | undefined>((resolve) => {
    worker.once('message', resolve)
    worker.once('error', () => resolve(undefined))
    worker.once('exit', () => resolve(undefined))
  })
  await worker.terminate()
  return cache && { text: script.text, cache }
}
