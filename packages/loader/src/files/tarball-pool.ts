import { messageOf } from '@bulkhead/kit/error-message'
import { WorkPool } from '@bulkhead/kit/pool'
import type { TarballQuestion, TarballRead } from './read-tarball.ts'

/** The largest package takes two seconds. */
const READ_MS = 60_000

const tarballPool = new WorkPool<TarballQuestion, TarballRead>(
  new URL('./read-tarball.ts', import.meta.url), { heapMb: 256, threads: 1, waiting: 1_000, tasksPerThread: 1 },
)

/** Contract: never rejects. */
export const readTarballApart = (question: TarballQuestion): Promise<TarballRead> =>
  tarballPool.run(question, { deadlineMs: READ_MS }).catch((error: unknown) =>
    ({ ok: false, message: `could not be read: ${messageOf(error)}` }))
