import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { isQuotaFault } from '@bulkhead/kit/error-message'

const FAULTS: ReadonlyMap<string, readonly [code: ErrorCode, what: string]> = new Map([
  ['ENOENT', ['NotFound', 'does not exist']],
  ['ENOTDIR', ['NotFound', 'lies below something that is not a folder, or is not a folder itself']],
  ['EISDIR', ['InputInvalid', 'is a folder']],
  ['ENOTEMPTY', ['InputInvalid', 'is a folder that is not empty; remove what it holds first']],
  ['ENAMETOOLONG', ['InputInvalid', 'has a name that is too long']],
  ['ENXIO', ['InputInvalid', 'is neither a file nor a folder']],
  // The last name is never followed: a link there can only have been put after the path was judged, or leads nowhere.
  ['ELOOP', ['CapabilityDenied', 'is a link that leads nowhere or in a circle. Name another path']],
  ['EACCES', ['ToolExecutionFailed', 'may not be touched by the user the host runs as']],
  ['EPERM', ['ToolExecutionFailed', 'may not be touched by the user the host runs as']],
  ['ENOSPC', ['ToolExecutionFailed', 'finds no room on its disk']],
  ['EDQUOT', ['ToolExecutionFailed', 'finds no room on its disk: the quota of the user is used up']],
  ['EFBIG', ['ToolExecutionFailed', 'would become larger than the system lets the host write']],
  ['EROFS', ['ToolExecutionFailed', 'lies on a disk that cannot be written']],
  ['EBUSY', ['ResourceBusy', 'is busy']],
  ['EMFILE', ['ResourceBusy', 'could not be opened because too many files are']],
  ['ENFILE', ['ResourceBusy', 'could not be opened because too many files are']],
  ['ENOMEM', ['ResourceBusy', 'could not be used because the system has no memory left']],
])

export const isAbsent = (error: unknown): boolean => (error as { readonly code?: unknown } | undefined)?.code === 'ENOENT'

export const isMissing = (error: unknown): boolean => {
  const { code } = error as { readonly code?: unknown }
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Runs file work and names its failures in the tool's terms: the path as the tool wrote it, nothing of the host. */
export async function fileFault<T>(given: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const code = isQuotaFault(error) ? 'EDQUOT' : (error as { readonly code?: unknown }).code
    const fault = typeof code === 'string' ? FAULTS.get(code) : undefined
    if (fault === undefined) {
      throw new BulkheadError(
        'ToolExecutionFailed',
        `"${given}" could not be used${typeof code === 'string' ? ` (${code})` : ''}.`,
        { cause: error },
      )
    }
    throw new BulkheadError(fault[0], `"${given}" ${fault[1]}.`, { cause: error, data: { path: given } })
  }
}

/** Of something new: it is not the file that is missed. */
export const folderMissing = (path: string): BulkheadError => new BulkheadError(
  'NotFound',
  `The folder of "${path}" does not exist, and the tool may not make it. `
    + 'Declare the folder with all in it in `requires.fs.write`, such as {workspace}/folder/**.',
  { data: { path } },
)

/** What works on a folder must not find an empty one in its place. */
export const workspaceGone = (path: string): BulkheadError => new BulkheadError(
  'NotFound', `"${path}" was not written: the workspace does not exist any more, and is not made anew. Put it back, or open another one.`, { data: { path } },
)

export const notRegular = (path: string): BulkheadError =>
  new BulkheadError(
    'InputInvalid',
    `"${path}" is not a regular file; folders, links and devices cannot be used so.`,
    { data: { path } },
  )
