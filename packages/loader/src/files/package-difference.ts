import { visibleText } from '@bulkhead/kit/text'
import { byteOrder } from '../byte-order.ts'

export interface PackageDifference {
  readonly path: string
  readonly change: 'missing' | 'extra' | 'changed'
}

/** Where the files that are there differ from those that should be, in byte order; empty when they are the same. */
export function packageDifferences(
  expected: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>,
): readonly PackageDifference[] {
  const paths = new Set([...expected.keys(), ...actual.keys()])
  return [...paths].toSorted(byteOrder).flatMap((path): PackageDifference[] => {
    if (!actual.has(path)) return [{ path, change: 'missing' }]
    if (!expected.has(path)) return [{ path, change: 'extra' }]
    return actual.get(path) === expected.get(path) ? [] : [{ path, change: 'changed' }]
  })
}

export const differenceInWords = ({ path, change }: PackageDifference): string =>
  change === 'changed' ? `the file "${visibleText(path)}" has changed` : `the file "${visibleText(path)}" is ${change}`
