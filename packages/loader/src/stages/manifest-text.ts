import { findJsonFault, MANIFEST_FILE, type ExtensionModule, type Json } from '@bulkhead/contract'
import type { Located, Written } from '../extension.ts'
import type { PackageContents } from '../files/read-package.ts'
import { parseStrictJson } from '../json/strict-json.ts'
import { pass, refuse, type StageResult } from '../result.ts'

/** The manifest of a folder, from bytes to data. */
export function manifestText(located: Located, contents: PackageContents): StageResult<Written> {
  const bytes = contents.bytes.get(MANIFEST_FILE)
  if (bytes === undefined) {
    return refuse({
      stage: 'shape', code: 'ShapeInvalid', path: '', message: `The folder has no ${MANIFEST_FILE}.`,
      cure: `Add a ${MANIFEST_FILE}, or move the folder elsewhere.`,
    })
  }
  const parsed = parseStrictJson(bytes)
  if (parsed.ok) return pass({ ...located, origin: { kind: 'files', contents }, json: parsed.value })
  return refuse({
    stage: 'shape', code: parsed.duplicateKey ? 'DuplicateJsonKey' : 'ShapeInvalid', path: parsed.path, file: MANIFEST_FILE,
    message: `${MANIFEST_FILE} ${parsed.message}.`,
  })
}

/** The manifest of a bundled extension, which is data already; copied, so that freezing it does not reach the giver. */
export function manifestValue(located: Located, manifest: unknown, module: ExtensionModule): StageResult<Written> {
  const fault = findJsonFault(manifest)
  if (fault !== undefined) {
    const message = `The manifest has a value that ${fault.message}.`
    return refuse({ stage: 'shape', code: 'ShapeInvalid', path: fault.path, message })
  }
  return pass({ ...located, origin: { kind: 'module', module }, json: JSON.parse(JSON.stringify(manifest)) as Json })
}
