import {
  ANY_COMMAND, BulkheadError, checkRequirements, compileApprovalKey, CONTRACT_VERSION, MANIFEST_FILE,
  type ExtensionModule, type PatternSource, type RequirementSet,
} from '@bulkhead/contract'
import {
  connectedManifestSchema, contractCompatible, coreSatisfies, manifestSchema, placeIssues, pointerOf,
} from '@bulkhead/contract/validation'
import { findJsonFault, isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import validRange from 'semver/ranges/valid.js'
import {
  evidenceOf, type Connection, type ManifestPlace, type Shaped, type Written, type ProofContext,
} from '../describe/extension.ts'
import type { ExtensionCandidate } from '../discover/extension-folders.ts'
import type { PackageContents } from '../files/read-package.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { MAX_FAULTS, pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'

export const PACKAGE_FILE = 'package.json'
/** The member of package.json that holds the manifest when there is no manifest file. */
const PACKAGE_KEY = 'bulkhead'

export const OWN_FILE: ManifestPlace = { file: MANIFEST_FILE, pointer: '' }
const IN_PACKAGE_FILE: ManifestPlace = { file: PACKAGE_FILE, pointer: `/${PACKAGE_KEY}` }

/** Parses the manifest of a package. */
export function readManifest(candidate: ExtensionCandidate, contents: PackageContents): StageResult<Written> {
  const bytes = contents.bytes.get(MANIFEST_FILE)
  if (bytes === undefined) return manifestInPackageFile(candidate, contents)
  const parsed = parseStrictJson(bytes)
  return parsed.ok ? manifestOf(candidate, contents, OWN_FILE, parsed.value) : unreadable(MANIFEST_FILE, parsed)
}

/** The member may omit the version, which package.json has. */
function manifestInPackageFile(candidate: ExtensionCandidate, contents: PackageContents): StageResult<Written> {
  const bytes = contents.bytes.get(PACKAGE_FILE)
  if (bytes === undefined) return none(`The folder is not an extension: it has no ${MANIFEST_FILE}.`)
  const parsed = parseStrictJson(bytes)
  if (!parsed.ok) return unreadable(PACKAGE_FILE, parsed)
  const member = isJsonObject(parsed.value) ? parsed.value[PACKAGE_KEY] : undefined
  if (member === undefined) {
    return none(
      `The folder is not an extension: it has no ${MANIFEST_FILE}, and ${PACKAGE_FILE} has no "${PACKAGE_KEY}".`,
    )
  }
  const { version } = parsed.value as { readonly version?: Json }
  const json = isJsonObject(member) && version !== undefined ? { version, ...member } : member
  return manifestOf(candidate, contents, IN_PACKAGE_FILE, json)
}

/** A manifest that a program passes. Copied, so that freezing it does not affect the caller. Those of servers are new. */
export function readManifestValue(
  candidate: ExtensionCandidate, manifest: unknown, module: ExtensionModule, connection?: Connection,
): StageResult<Written> {
  const fault = findJsonFault(manifest)
  if (fault !== undefined) {
    const message = `The manifest has a value that ${fault.message}.`
    return refuse({ stage: 'shape', code: 'ShapeInvalid', path: fault.path, message })
  }
  const json = connection ? manifest as Json : JSON.parse(JSON.stringify(manifest)) as Json
  return pass({
    ...candidate, origin: { kind: 'module', module, ...(connection && { connection }) }, manifestAt: OWN_FILE, json,
  })
}

const manifestOf = (
  candidate: ExtensionCandidate, contents: PackageContents, manifestAt: ManifestPlace, json: Json,
): StageResult<Written> =>
  pass({ ...candidate, origin: { kind: 'files', evidence: evidenceOf(contents) }, manifestAt, json })

const none = (message: string): StageResult<never> => refuse({
  stage: 'shape', code: 'ShapeInvalid', path: '', message,
  cure: `Add a ${MANIFEST_FILE}, or move the folder elsewhere.`,
})

const unreadable = (
  file: string, { path, message, duplicateKey }: Extract<ReturnType<typeof parseStrictJson>, { ok: false }>,
): StageResult<never> => refuse(
  {
    stage: 'shape', code: duplicateKey ? 'DuplicateJsonKey' : 'ShapeInvalid', path, file,
    message: `${file} ${message}.`,
  },
)

/** Whether a server or an API document offers the tools. */
export const isConnected = ({ origin }: Pick<Written, 'origin'>): boolean =>
  origin.kind === 'module' && origin.connection !== undefined

/** Checks the manifest against its schema and fills in defaults. */
export function checkShape(written: Written): StageResult<Shaped> {
  const { json, ...rest } = written
  const schema = isConnected(written) ? connectedManifestSchema : manifestSchema
  const parsed = schema.safeParse(json)
  if (parsed.success) return pass({ ...rest, manifest: parsed.data })
  const newer = cureForOtherContract(json)
  const { manifestAt: { file, pointer }, origin } = rest
  return {
    ok: false,
    faults: placeIssues(parsed.error.issues, schema).slice(0, MAX_FAULTS).map(({ steps, message }) => ({
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
  const what = `The manifest is written for contract ${wanted}, and this host supports ${CONTRACT_VERSION}.`
  return `${what} Use a host that supports it.`
}

/** Tool names must differ in more than case, so that a person can tell them apart. */
export function checkToolNames(shaped: Shaped): StageResult<Shaped> {
  const seen = new Map<string, string>()
  return passUnless(shaped.manifest.tools.flatMap(({ name }, index): Fault[] => {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin === undefined) return []
    return [{
      stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/name`,
      message: `The tools "${twin}" and "${name}" differ only in case.`,
      cure: 'Give each tool a name of its own.',
    }]
  }), shaped)
}

/** Path patterns must compile for any value of their variables. Only bundled tools may require all commands. */
export function checkToolRequirements(shaped: Shaped): StageResult<Shaped> {
  // For a server, requirements describe a process: without a jail it can do everything, inside one what the user wrote.
  const source = isConnected(shaped) ? 'server' : 'manifest'
  const mayRunAll = shaped.layer === 'bundled' || isConnected(shaped)
  const commands = mayRunAll ? [] : shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (requires.shell ?? []).flatMap(({ cmd }, index) =>
      cmd === ANY_COMMAND ? [allCommandsFault(`/tools/${tool}/requires/shell/${index}/cmd`)] : []))
  const faults = shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (['read', 'write'] as const).flatMap((access) =>
      (requires.fs?.[access] ?? []).flatMap((pattern, index) =>
        faultOf({ fs: { [access]: [pattern] } }, `/tools/${tool}/requires/fs/${access}/${index}`, source))))
  return passUnless([...faults, ...commands], shaped)
}

const allCommandsFault = (path: string): Fault => ({
  stage: 'shape', code: 'RequirementInvalid', path,
  message: 'Only bundled tools may require all commands. Name the commands that the tool runs.',
})

function faultOf(requires: RequirementSet, path: string, source: PatternSource): Fault[] {
  try {
    checkRequirements(requires, source)
    return []
  } catch (error) {
    return [{ stage: 'shape', code: 'RequirementInvalid', path, message: BulkheadError.from(error).message }]
  }
}

/** Approval key templates must compile, and arguments that they and `touches` name must exist. */
export function checkApprovalKeys(shaped: Shaped): StageResult<Shaped> {
  return passUnless(shaped.manifest.tools.flatMap(({ approvalKey, touches = {}, inputSchema }, index): Fault[] => {
    const claimed = Object.keys(touches).filter((name) => isUnknown(name, inputSchema)).map((name): Fault => ({
      stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/touches${pointerStep(name)}`,
      message: `"touches" names the argument "${name}", which inputSchema does not have. Use one of its properties.`,
    }))
    if (approvalKey === undefined || claimed.length > 0) return claimed
    const path = `/tools/${index}/approvalKey`
    const refused = (message: string): Fault[] => [{ stage: 'shape', code: 'ApprovalKeyInvalid', path, message }]
    try {
      compileApprovalKey(approvalKey)
    } catch (error) {
      return refused(BulkheadError.from(error).message)
    }
    const unknown = unknownArgument(approvalKey, inputSchema)
    return unknown === undefined ? [] : refused(
      `The approval key "${approvalKey}" uses the argument "${unknown}", which inputSchema does not have, `
      + 'so it cannot distinguish calls. Use one of its properties.',
    )
  }), shaped)
}

/** The first argument of a template that no call can have. */
function unknownArgument(template: string, inputSchema: JsonObject): string | undefined {
  const names = [...template.matchAll(/\{([^{}.]+)(?:\.[^{}]*)?\}/g)].map(([, name]) => name!)
  return names.find((name) => isUnknown(name, inputSchema))
}

/** Whether no call can have this argument, because the schema is closed and does not list it. */
function isUnknown(name: string, { properties, patternProperties, additionalProperties }: JsonObject): boolean {
  if (additionalProperties !== false || patternProperties !== undefined) return false
  return !isJsonObject(properties) || !Object.hasOwn(properties, name)
}

/** The main module must be JavaScript in the package. Its code is not read here. */
export function checkMainFile(shaped: Shaped): StageResult<Shaped> {
  const { manifest: { main }, origin } = shaped
  if (main.endsWith('ts')) {
    return refuse({
      stage: 'shape', code: 'ShapeInvalid', path: '/main',
      message: `The module "${main}" is TypeScript, which a host does not run.`,
      cure: 'Run "bulkhead pack" on the folder and use the tarball.',
    })
  }
  if (origin.kind === 'module' || origin.evidence.fileDigests().has(main.slice('./'.length))) return pass(shaped)
  return refuse({
    stage: 'shape', code: 'ShapeInvalid', path: '/main', message: `The module "${main}" is not in the package.`,
    cure: 'Build the extension, or correct main.',
  })
}

/** The host must support the contract version of the manifest. */
export function checkContractVersion(shaped: Shaped): StageResult<Shaped> {
  const wanted = shaped.manifest.contractVersion
  if (contractCompatible(wanted)) return pass(shaped)
  return refuse({
    stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion',
    message: `The manifest is written for contract ${wanted}; this host supports ${CONTRACT_VERSION}.`,
  })
}

/** The version of this host must be in the range that the extension requires. */
export function checkCoreVersion(shaped: Shaped, { coreVersion, anyCore }: ProofContext): StageResult<Shaped> {
  const range = shaped.manifest.requiredCoreVersion
  const readable = validRange(range) !== null
  if (coreSatisfies(range, coreVersion) || (anyCore && readable)) return pass(shaped)
  return refuse({
    stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion',
    message: readable
      ? `The extension requires a host version in ${visibleText(range)}; this host is ${coreVersion}.`
      : `"${visibleText(range)}" is not a version range.`,
    ...(!readable && { cure: 'Write a range such as ^1.0.0.' }),
  })
}
