import { BulkheadError } from '@bulkhead/contract'
import type { LoaderLimits } from '../model/limits.ts'
import { Pace } from '../model/yielder.ts'
import { coveredFiles, isCovered } from './integrity-file.ts'
import { differenceInWords, packageDifferences, type PackageDifference } from './package-difference.ts'
import { readPackage } from './read-package.ts'

/**
 * Reads a proven package again, when its code is needed. Bytes need not stay in memory until then: only bytes with the
 * digests that were proven are ever returned. Rejects with IntegrityFailed, which names the first file that differs.
 */
export async function readVerifiedFiles(
  id: string, folder: string, proven: ReadonlyMap<string, string>, limits: LoaderLimits,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = await readPackage(folder, limits, new Pace(), isCovered)
  if (!read.ok) throw failed(id, read.faults[0]!.message, [])
  const differences = packageDifferences(proven, coveredFiles(read.value.digests))
  const [first, ...others] = differences
  if (first !== undefined) {
    const rest = others.length === 0 ? '' : `, and ${others.length} more differ`
    throw failed(id, `${differenceInWords(first)}${rest}.`, differences.slice(0, 100))
  }
  return read.value.bytes
}

function failed(id: string, what: string, differences: readonly PackageDifference[]): BulkheadError {
  const message = `The extension "${id}" is no longer what was loaded: ${what} Load again to accept the change.`
  return new BulkheadError('IntegrityFailed', message, {
    data: { extension: id, differences: differences.map(({ path, change }) => ({ path, change })) },
  })
}
