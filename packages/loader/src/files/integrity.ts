import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { packageDigest } from '../model/digest.ts'
import { parseStrictJson } from './strict-json.ts'
import { MAX_FAULTS, type Fault } from '../model/result.ts'
import { INTEGRITY_FILE } from './integrity-file.ts'
import { differenceInWords, packageDifferences } from './package-difference.ts'

/** Where a package differs from what its integrity file says of it; empty when it does not. Contract: never throws. */
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
      ...failed(difference.path, '', `The package is not what was packed: ${differenceInWords(difference)}.`), cure: REPACK,
    }))
  }
  // Equal files make an equal root, unless the file disagrees with itself.
  if (packageDigest(actual) === declared.root) return []
  return [failed(INTEGRITY_FILE, '/root', `${INTEGRITY_FILE}/root is not the digest of its files.`)]
}

const REPACK = `Get the package again from its publisher. If it is yours and you have changed it, "bulkhead pack" writes ${INTEGRITY_FILE} anew.`

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

const isDigest = (value: Json | undefined): value is string => typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)
const failed = (file: string, path: string, message: string): Fault =>
  ({ stage: 'integrity', code: 'IntegrityFailed', path, file, message })
