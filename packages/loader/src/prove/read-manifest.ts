import { CONTRACT_VERSION, MANIFEST_FILE, type ExtensionModule } from '@bulkhead/contract'
import { contractCompatible, manifestSchema } from '@bulkhead/contract/validation'
import { findJsonFault, isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { evidenceOf, type Connection, type ManifestPlace, type Shaped, type Written } from '../describe/extension.ts'
import type { Located } from '../discover/extension-folders.ts'
import type { PackageContents } from '../files/read-package.ts'
import { placeIssues, pointerOf } from '../files/schema-issues.ts'
import { parseStrictJson } from '../files/strict-json.ts'
import { MAX_FAULTS, pass, refuse, type StageResult } from '../model/result.ts'

export const PACKAGE_FILE = 'package.json'
/** The member of package.json that holds the manifest when there is no manifest file. */
const PACKAGE_KEY = 'bulkhead'

export const OWN_FILE: ManifestPlace = { file: MANIFEST_FILE, pointer: '' }
const IN_PACKAGE_FILE: ManifestPlace = { file: PACKAGE_FILE, pointer: `/${PACKAGE_KEY}` }

/** Parses the manifest of a package. */
export function readManifest(located: Located, contents: PackageContents): StageResult<Written> {
  const bytes = contents.bytes.get(MANIFEST_FILE)
  if (bytes === undefined) return manifestInPackageFile(located, contents)
  const parsed = parseStrictJson(bytes)
  return parsed.ok ? manifestOf(located, contents, OWN_FILE, parsed.value) : unreadable(MANIFEST_FILE, parsed)
}

/** The member may omit the version, which package.json has. */
function manifestInPackageFile(located: Located, contents: PackageContents): StageResult<Written> {
  const bytes = contents.bytes.get(PACKAGE_FILE)
  if (bytes === undefined) return none(`The folder is not an extension: it has no ${MANIFEST_FILE}.`)
  const parsed = parseStrictJson(bytes)
  if (!parsed.ok) return unreadable(PACKAGE_FILE, parsed)
  const member = isJsonObject(parsed.value) ? parsed.value[PACKAGE_KEY] : undefined
  if (member === undefined) return none(`The folder is not an extension: it has no ${MANIFEST_FILE}, and ${PACKAGE_FILE} has no "${PACKAGE_KEY}".`)
  const { version } = parsed.value as { readonly version?: Json }
  const json = isJsonObject(member) && version !== undefined ? { version, ...member } : member
  return manifestOf(located, contents, IN_PACKAGE_FILE, json)
}

/** A manifest that a program passes. Copied, so that freezing it does not affect the caller. */
export function readManifestValue(
  located: Located, manifest: unknown, module: ExtensionModule, connection?: Connection,
): StageResult<Written> {
  const fault = findJsonFault(manifest)
  if (fault !== undefined) {
    const message = `The manifest has a value that ${fault.message}.`
    return refuse({ stage: 'shape', code: 'ShapeInvalid', path: fault.path, message })
  }
  const json = JSON.parse(JSON.stringify(manifest)) as Json
  return pass({ ...located, origin: { kind: 'module', module, ...(connection && { connection }) }, manifestAt: OWN_FILE, json })
}

const manifestOf = (located: Located, contents: PackageContents, manifestAt: ManifestPlace, json: Json): StageResult<Written> =>
  pass({ ...located, origin: { kind: 'files', evidence: evidenceOf(contents) }, manifestAt, json })

const none = (message: string): StageResult<never> => refuse({
  stage: 'shape', code: 'ShapeInvalid', path: '', message,
  cure: `Add a ${MANIFEST_FILE}, or move the folder elsewhere.`,
})

const unreadable = (
  file: string, { path, message, duplicateKey }: Extract<ReturnType<typeof parseStrictJson>, { ok: false }>,
): StageResult<never> => refuse(
  { stage: 'shape', code: duplicateKey ? 'DuplicateJsonKey' : 'ShapeInvalid', path, file, message: `${file} ${message}.` },
)

/** Checks the manifest against its schema and fills in defaults. */
export function checkShape(written: Written): StageResult<Shaped> {
  const { json, ...rest } = written
  const parsed = manifestSchema.safeParse(json)
  if (parsed.success) return pass({ ...rest, manifest: parsed.data })
  const newer = cureForOtherContract(json)
  const { manifestAt: { file, pointer }, origin } = rest
  return {
    ok: false,
    faults: placeIssues(parsed.error.issues, manifestSchema).slice(0, MAX_FAULTS).map(({ steps, message }) => ({
      stage: 'shape', code: 'ShapeInvalid', path: pointer + pointerOf(steps),
      message: `${visibleText(pointerOf(steps)) || 'The manifest'} ${message}.`,
      ...(origin.kind === 'files' && { file }), ...(newer !== undefined && { cure: newer }),
    })),
  }
}

/** An unknown key is most often a key of a later contract. */
function cureForOtherContract(json: Json): string | undefined {
  const wanted = isJsonObject(json) ? json['contractVersion'] : undefined
  if (typeof wanted !== 'string' || !/^\d+\.\d+\.\d+$/.test(wanted) || contractCompatible(wanted)) return undefined
  return `The manifest is written for contract ${wanted}, and this host supports ${CONTRACT_VERSION}. Use a host that supports it.`
}
