import { messageOf } from '@bulkhead/kit/error-message'
import { PoolError, WorkPool } from '@bulkhead/kit/pool'
import type { DescribedApi, Wanted } from './api-description.ts'
import type { DocumentFiles } from './bundle.ts'

export interface DocumentQuestion extends DocumentFiles {
  readonly wanted: Wanted
}

export type DocumentAnswer =
  | { readonly ok: true; readonly api: DescribedApi }
  /** The message is the end of a sentence. */
  | { readonly ok: false; readonly message: string }

/** Much more than a valid document needs, even on a busy machine. */
const READ_MS = 30_000

export const documentPool = new WorkPool<DocumentQuestion, DocumentAnswer>(
  new URL('./read-document.ts', import.meta.url), { heapMb: 512, threads: 2, waiting: 1_000, tasksPerThread: 1 },
)

/** Parses a document in a thread without rights, with limited time and memory. Never rejects. */
export function readDocument(question: DocumentQuestion, readMs = READ_MS): Promise<DocumentAnswer> {
  return documentPool.run(question, { deadlineMs: readMs }).catch((error: unknown) => {
    const isOurs = error instanceof PoolError && (error.fault === 'busy' || error.fault === 'start')
    return { ok: false, message: `${isOurs ? 'was not' : 'could not be'} read: ${messageOf(error)}` }
  })
}
