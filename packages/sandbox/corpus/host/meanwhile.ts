import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Attack } from '../case.ts'
import { swapLink } from './swap-link.ts'

/** What the host does beside an attack. */
export interface Meanwhile {
  /** Before it is opened, and before each step of its script. */
  beforeStep(): Promise<void>
  end(): void
}

export function beginMeanwhile({ meanwhile }: Attack, folder: string, secret: string): Meanwhile {
  return {
    beforeStep: async () => {
      if (meanwhile === 'frees secrets') await freeSecrets(secret)
    },
    end: meanwhile === 'swaps a link' ? swapLink(folder) : () => undefined,
  }
}

/** Buffers of many sizes, and those of the pool, that held the secret when their thread ended. */
const HOLDER = `
  const { workerData: secret } = require('node:worker_threads')
  const kept = []
  for (let size = 512; size <= 65_536; size *= 2) for (let at = 0; at < 60; at++) kept.push(Buffer.alloc(size, secret))
  for (let at = 0; at < 6_000; at++) kept.push(Buffer.from(secret.repeat(40)))
`

/** Several, because each thread has memory of its own and the next thread takes over that of any. */
const HOLDERS = 4

/** Memory that neighbours worked on with the secret and gave back, as happens all the time. */
async function freeSecrets(secret: string): Promise<void> {
  await Promise.all(Array.from({ length: HOLDERS }, () => once(new Worker(HOLDER, { eval: true, workerData: secret }), 'exit')))
}
