import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'

const CODES: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ERR_WORKER_INIT_FAILED'])
/** The same conditions as programs print them, Node included. */
const WORDS =
  /resource temporarily unavailable|too many open files|cannot allocate memory|uv_thread_create|\bE(?:AGAIN|MFILE|NFILE|NOMEM)\b/i

/** Whether the system currently lacks processes, threads, descriptors or memory. */
export const isResourceShortage = (error: unknown): boolean => CODES.has(errorCode(error))

export const mentionsResourceShortage = (output: string): boolean => WORDS.test(output)

/** The extension is not to blame, and a later attempt may succeed. */
export const resourceShortage = (what: string, why: string, cause?: unknown): BulkheadError =>
  new BulkheadError('NoPlaceFree', `${what}: ${why}. Try again when the system has more room.`, { cause })

/** Why a command was not started, without details of the host. */
export function startError(error: unknown): BulkheadError {
  const code = errorCode(error)
  const why = code === undefined ? '' : ` (${code})`
  if (isResourceShortage(error)) {
    return new BulkheadError('ResourceBusy', `The system has no room for a process${why}. Try again later.`, { cause: error })
  }
  return new BulkheadError('ToolExecutionFailed', `The command could not be started${why}.`, { cause: error })
}
