import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { byteOrder, packageDigest } from '../model/digest.ts'
import { MAX_FAULTS, type Fault } from '../model/result.ts'
import { parseStrictJson } from './json-file.ts'

/** A sigstore bundle over the integrity file. Not part of the package digest, and not visible to its code. */
export const SIGNATURE_FILE = 'bulkhead.sigstore.json'

/** Holds the digests of all other files of the package. Not part of the package digest, and not visible to its code. */
export const INTEGRITY_FILE = 'bulkhead.integrity.json'

/** Whether the package digest covers the file. */
export const isCovered = (path: string): boolean => path !== INTEGRITY_FILE && path !== SIGNATURE_FILE

export const coveredFiles = (digests: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...digests].filter(([path]) => isCovered(path)))

/** How a package differs from its integrity file; empty if it does not. Contract: never throws. */
export function compareIntegrity(text: Uint8Array, actual: ReadonlyMap<string, string>): readonly Fault[] {
  const parsed = parseStrictJson(text)
  if (!parsed.ok) return [failed(INTEGRITY_FILE, parsed.path, `${INTEGRITY_FILE} ${parsed.message}.`)]
  const declared = readDeclaration(parsed.value)
  if ('message' in declared) {
    return [failed(INTEGRITY_FILE, declared.path, `${INTEGRITY_FILE}${declared.path} ${declared.message}.`)]
  }

  const differences = packageDifferences(declared.files, actual)
  if (differences.length > 0) {
    return differences.slice(0, MAX_FAULTS).map((difference) => ({
      ...failed(difference.path, '', `The package differs from its integrity file: ${differenceInWords(difference)}.`),
      cure: REPACK,
    }))
  }
  // Equal files have an equal root, unless the integrity file contradicts itself.
  if (packageDigest(actual) === declared.root) return []
  return [failed(INTEGRITY_FILE, '/root', `${INTEGRITY_FILE}/root is not the digest of its files.`)]
}

const REPACK = 'Get the package again from its publisher. '
  + `If it is your own and has changed, run "bulkhead pack" to write a new ${INTEGRITY_FILE}.`

type Declaration = { readonly files: ReadonlyMap<string, string>; readonly root: string }

function readDeclaration(value: Json): Declaration | { readonly path: string; readonly message: string } {
  if (!isJsonObject(value)) return { path: '', message: 'must be an object' }
  const { algorithm, files, root, ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return { path: pointerStep(unknown), message: 'is not a known key' }
  if (algorithm !== 'sha512') return { path: '/algorithm', message: 'must be "sha512"' }
  if (!isDigest(root)) return { path: '/root', message: 'must be a sha512 in lower-case hex' }
  if (!isJsonObject(files)) return { path: '/files', message: 'must be an object of digests by path' }
  const entries = Object.entries(files)
  if (!entries.every((entry): entry is [string, string] => isDigest(entry[1]))) {
    return { path: '/files', message: 'must name a sha512 in lower-case hex for each file' }
  }
  return { files: new Map(entries), root }
}

const isDigest = (value: Json | undefined): value is string =>
  typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)
const failed = (file: string, path: string, message: string): Fault =>
  ({ stage: 'integrity', code: 'IntegrityFailed', path, file, message })

export interface PackageDifference {
  readonly path: string
  readonly change: 'missing' | 'extra' | 'changed'
}

/** The differences between two sets of files, in byte order. */
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

/** The content of an integrity file. Deterministic, because it is signed. */
export function integrityText(covered: ReadonlyMap<string, string>): string {
  const files = Object.fromEntries([...covered].toSorted(([left], [right]) => byteOrder(left, right)))
  return JSON.stringify({ algorithm: 'sha512', files, root: packageDigest(covered) }, null, 2) + '\n'
}
