import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode, isQuotaFault } from '@bulkhead/kit/error-message'

const FAULTS: ReadonlyMap<string, readonly [code: ErrorCode, what: string]> = new Map([
  ['ENOENT', ['NotFound', 'does not exist']],
  ['ENOTDIR', ['NotFound', 'is not a folder, or is below a path that is not a folder']],
  ['EISDIR', ['InputInvalid', 'is a folder']],
  ['ENOTEMPTY', ['InputInvalid', 'is a folder that is not empty. Remove its content first']],
  ['ENAMETOOLONG', ['InputInvalid', 'has a name that is too long']],
  ['ENXIO', ['InputInvalid', 'is neither a file nor a folder']],
  // The last component is never followed, so this link was created after the check, or is broken.
  ['ELOOP', ['CapabilityDenied', 'is a link that is broken or circular. Use another path']],
  ['EACCES', ['ToolExecutionFailed', 'is not accessible to the user that runs the host']],
  ['EPERM', ['ToolExecutionFailed', 'is not accessible to the user that runs the host']],
  ['ENOSPC', ['ToolExecutionFailed', 'cannot be written because the disk is full']],
  ['EDQUOT', ['ToolExecutionFailed', 'cannot be written because the disk quota of the user is used up']],
  ['EFBIG', ['ToolExecutionFailed', 'would exceed the largest file size that the system allows']],
  ['EROFS', ['ToolExecutionFailed', 'is on a read-only disk']],
  ['EBUSY', ['ResourceBusy', 'is busy']],
  ['EMFILE', ['ResourceBusy', 'could not be opened because too many files are open']],
  ['ENFILE', ['ResourceBusy', 'could not be opened because too many files are open']],
  ['ENOMEM', ['ResourceBusy', 'could not be used because the system is out of memory']],
])

export const isMissing = (error: unknown): boolean => {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Runs file work and rewrites its errors: with the path as the tool wrote it, and without details of the host. */
export async function withFileErrors<T>(given: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const code = isQuotaFault(error) ? 'EDQUOT' : errorCode(error)
    const fault = code === undefined ? undefined : FAULTS.get(code)
    if (fault === undefined) {
      throw new BulkheadError(
        'ToolExecutionFailed',
        `"${given}" could not be used${code === undefined ? '' : ` (${code})`}.`,
        { cause: error },
      )
    }
    throw new BulkheadError(fault[0], `"${given}" ${fault[1]}.`, { cause: error, data: { path: given } })
  }
}

export const folderMissing = (path: string): BulkheadError => new BulkheadError(
  'NotFound',
  `The folder of "${path}" does not exist, and the tool may not create it. `
    + 'Declare the folder in `requires.fs.write`, for example {workspace}/folder/**.',
  { data: { path } },
)

/** A deleted workspace is not recreated: the user must not find an empty one in its place. */
export const workspaceGone = (path: string): BulkheadError => new BulkheadError(
  'NotFound',
  `"${path}" was not written: the workspace no longer exists. Restore it, or open another one.`,
  { data: { path } },
)

export const notRegular = (path: string): BulkheadError =>
  new BulkheadError(
    'InputInvalid',
    `"${path}" is not a regular file. Folders, links and devices cannot be used here.`,
    { data: { path } },
  )
