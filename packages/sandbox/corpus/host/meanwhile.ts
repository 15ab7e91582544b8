import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Attack } from '../case.ts'
import { swapLink } from './swap-link.ts'

/** What the host does before and while an attack runs. What is returned ends it. */
export async function beginMeanwhile({ meanwhile }: Attack, folder: string, secret: string): Promise<() => void> {
  if (meanwhile === 'swaps a link') return swapLink(folder)
  if (meanwhile === 'frees secrets') await freeSecrets(secret)
  return () => undefined
}

/** Buffers of many sizes, and those of the pool, that held the secret when their thread ended. */
const HOLDER = `
  const { workerData: secret } = require('node:worker_threads')
  const kept = []
  for (let size = 512; size <= 65_536; size *= 2) for (let at = 0; at < 60; at++) kept.push(Buffer.alloc(size, secret))
  for (let at = 0; at < 2_000; at++) kept.push(Buffer.from(secret.repeat(40)))
`

/** Memory that a neighbour worked on with the secret and gave back, as happens all the time. */
async function freeSecrets(secret: string): Promise<void> {
  await once(new Worker(HOLDER, { eval: true, workerData: secret }), 'exit')
}
