import { BulkheadError } from '@bulkhead/contract'

const CODES: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ERR_WORKER_INIT_FAILED'])
/** The same in the words of programs, of Node when it starts among them. */
const WORDS =
  /resource temporarily unavailable|too many open files|cannot allocate memory|uv_thread_create|\bE(?:AGAIN|MFILE|NFILE|NOMEM)\b/i

/** Whether the system lacks room for now: for a process, a thread, a descriptor, or memory. */
export const isResourceShortage = (error: unknown): boolean => CODES.has((error as { readonly code?: unknown } | undefined)?.code)

export const mentionsResourceShortage = (words: string): boolean => WORDS.test(words)

/** Nobody's code is to blame for it, and later it may be otherwise. */
export const resourceShortage = (what: string, why: string, cause?: unknown): BulkheadError =>
  new BulkheadError('NoPlaceFree', `${what}: ${why}. Try again when the system has more room.`, { cause })
