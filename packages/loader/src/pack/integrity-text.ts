import { byteOrder } from '../byte-order.ts'
import { packageDigest } from '../model/digest.ts'

/** The text of an integrity file: the same for the same files, since it is what is signed. */
export function integrityText(covered: ReadonlyMap<string, string>): string {
  const files = Object.fromEntries([...covered].toSorted(([left], [right]) => byteOrder(left, right)))
  return JSON.stringify({ algorithm: 'sha512', files, root: packageDigest(covered) }, null, 2) + '\n'
}
