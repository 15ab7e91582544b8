import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'does not exist'], ['ENOTDIR', 'is not a folder'], ['EACCES', 'cannot be opened by this user'],
  ['ELOOP', 'is a symbolic link loop'],
])

export function workspaceError(path: string, error: unknown): BulkheadError {
  const why = REASONS.get((error as { readonly code?: unknown } | undefined)?.code) ?? `cannot be opened: ${messageOf(error)}`
  return new BulkheadError('ProjectPathInvalid', `The workspace "${path}" ${why}.`, { cause: error })
}
