import { isJsonObject, pointerStep, type Json } from '@bulkhead/contract'
import { packageDigest } from '../digest.ts'
import type { Compiled, Terms, Vouched } from '../extension.ts'
import { coveredFiles, INTEGRITY_FILE } from '../files/integrity-file.ts'
import { differenceInWords, packageDifferences } from '../files/package-difference.ts'
import { parseStrictJson } from '../json/strict-json.ts'
import { packagePolicy } from '../policy/package-policy.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../result.ts'

/**
 * Compares the package with the integrity file it carries, when it does. This tells damage and leftovers from what was
 * packed; who packed it is not known before a signature says so.
 */
export function integrity(compiled: Compiled, terms: Terms): StageResult<Vouched> {
  if (compiled.origin.kind === 'module') return pass({ ...compiled, integrity: 'bundled' })
  const { bytes, digests } = compiled.origin.contents
  const text = bytes.get(INTEGRITY_FILE)
  if (text !== undefined) return passUnless(compare(text, coveredFiles(digests)), { ...compiled, integrity: 'verified' })

  const missing: Fault = {
    stage: 'integrity', code: 'IntegrityTokenMissing', path: '',
    message: `The package has no ${INTEGRITY_FILE} and the policy for the ${compiled.layer} layer asks for one.`,
  }
  const { integrity: policy } = packagePolicy(terms, compiled.layer, compiled.manifest.id)
  if (policy === 'require') return refuse(missing)
  return pass({ ...compiled, integrity: 'unpinned' }, policy === 'warn' ? [missing] : [])
}

function compare(text: Uint8Array, actual: ReadonlyMap<string, string>): readonly Fault[] {
  const parsed = parseStrictJson(text)
  if (!parsed.ok) return [failed(INTEGRITY_FILE, parsed.path, `${INTEGRITY_FILE} ${parsed.message}.`)]
  const declared = readDeclaration(parsed.value)
  if ('message' in declared) {
    return [failed(INTEGRITY_FILE, declared.path, `${INTEGRITY_FILE}${declared.path} ${declared.message}.`)]
  }

  const differences = packageDifferences(declared.files, actual)
  if (differences.length > 0) {
    return differences.slice(0, 20).map((difference) =>
      failed(difference.path, '', `The package is not what was packed: ${differenceInWords(difference)}.`))
  }
  // Equal files make an equal root, unless the file disagrees with itself.
  if (packageDigest(actual) === declared.root) return []
  return [failed(INTEGRITY_FILE, '/root', `${INTEGRITY_FILE}/root is not the digest of its files.`)]
}

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
