import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Runner } from '../harness/subject.ts'

/** A thread running a file of `peers/`, with what a runner needs to know of its life and end. */
export interface PeerThread extends Required<Pick<Runner, 'died' | 'stop'>> {
  readonly worker: Worker
}

export async function startPeerThread(file: URL): Promise<PeerThread> {
  const worker = new Worker(file)
  const died = Promise.withResolvers<never>()
  died.promise.catch(() => {}) // It may reject while nobody waits: at the latest when the thread is stopped.
  worker.on('error', died.reject)
  worker.on('exit', (code) => died.reject(new Error(`its thread exited with code ${code}`)))
  await Promise.race([once(worker, 'online'), died.promise])
  return { worker, died: died.promise, stop: async () => void (await worker.terminate()) }
}
