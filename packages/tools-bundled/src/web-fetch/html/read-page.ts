import { WorkPool } from '@bulkhead/kit/pool'
import { notRead } from '../../model/not-read.ts'
import type { PageRequest, ReadablePage } from './html-to-markdown.ts'

/** Much more than a page of the largest size takes, also on a busy machine. */
const DEADLINE_MS = 15_000

export const pagePool = new WorkPool<PageRequest, ReadablePage>(
  new URL('./html-to-markdown.ts', import.meta.url), { heapMb: 256, threads: 1, waiting: 64, tasksPerThread: 100 },
)

/** Reads a page. Rejects with a ToolError, or with the reason of the signal. */
export async function readPage(page: PageRequest, signal: AbortSignal): Promise<ReadablePage> {
  return pagePool.run(page, { signal, deadlineMs: DEADLINE_MS }).catch((error: unknown) => {
    throw notRead('page', error, () => 'Fetch another page.')
  })
}
