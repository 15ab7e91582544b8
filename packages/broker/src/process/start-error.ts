import { BulkheadError } from '@bulkhead/contract'
import { isResourceShortage } from './resources.ts'

/** Why a command was not started, in the tool's terms. */
export function startFault(error: unknown): BulkheadError {
  const { code } = error as { readonly code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  if (isResourceShortage(error)) {
    return new BulkheadError('ResourceBusy', `The system has no room for a process${why}. Try again later.`, { cause: error })
  }
  return new BulkheadError('ToolExecutionFailed', `The command could not be started${why}.`, { cause: error })
}
