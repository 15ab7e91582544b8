import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Attack, AttackPlacement } from '../model/case.ts'
import { swapLink } from './swap-link.ts'

/** What the host does during an attack. */
export interface Meanwhile {
  /** Called before it is opened, and before each step of its script. */
  beforeStep(): Promise<void>
  end(): void
}

export function beginMeanwhile(
  { meanwhile }: Attack, placement: AttackPlacement, folder: string, secret: string,
): Meanwhile {
  return {
    beforeStep: async () => {
      if (meanwhile === 'frees secrets') await freeSecrets(secret, HOLDERS[placement])
    },
    end: meanwhile === 'swaps a link' ? swapLink(folder) : () => undefined,
  }
}

/** A thread that ends with the secret in buffers of many sizes and in the buffer pool. */
const HOLDER = `
  const { workerData: secret } = require('node:worker_threads')
  const kept = []
  for (let size = 512; size <= 65_536; size *= 2) for (let at = 0; at < 60; at++) kept.push(Buffer.alloc(size, secret))
  for (let at = 0; at < 6_000; at++) kept.push(Buffer.from(secret.repeat(40)))
`

/** Several, because a new thread can get the memory of any ended thread. A new process cannot. */
const HOLDERS = { process: 1, thread: 4 }

/** Memory that other extensions used for the secret and freed. */
async function freeSecrets(secret: string, holders: number): Promise<void> {
  await Promise.all(Array.from({ length: holders }, () =>
    once(new Worker(HOLDER, { eval: true, workerData: secret }), 'exit')))
}
