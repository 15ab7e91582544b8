import { statSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import {
  BulkheadError, MANIFEST_FILE, NPM_NAME_CHARS, NPM_NAME_PATTERN, type ExtensionSigner, type ExtensionDescriptor,
  type Layer,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { resolveConfig } from '../config/resolve-config.ts'
import { resolveSettings, type LoaderOptions, type Settings } from '../config/settings.ts'
import type { ProofContext } from '../describe/extension.ts'
import { isCovered } from '../files/integrity.ts'
import { readRegularFile } from '../files/read-file.ts'
import { boundOf, contentsOf, readPackage, type PackageContents } from '../files/read-package.ts'
import { readTarballApart } from '../files/tarball-pool.ts'
import type { LayerLock } from '../lock/lock-file.ts'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { faultError, type Fault } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import { proveContents } from '../prove/pipeline.ts'
import { WorkerSchemaChecker } from '../schema/schema-checker.ts'
import { verifyNpmAttestations } from '../signature/npm-attestations.ts'
import { PackageSignatures } from '../signature/package-signatures.ts'
import { Registry, type RegistryOptions, type RegistryVersion } from './registry.ts'

/** The source of an installation. */
export type InstallSpec =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'tarball'; readonly path: string }
  /** `wanted` is a version, a range or a tag. */
  | { readonly kind: 'npm'; readonly name: string; readonly wanted: string }

/** A version, range or tag. */
const WANTED = /^[^@/\\\s]{1,128}$/

/**
 * A path starts with a dot or a slash, ends like an archive, or contains a slash; everything else is the name of a
 * package. Files in the working directory do not change the meaning. Throws InstallSourceInvalid.
 */
export function parseInstallSpec(text: string, cwd: string): InstallSpec {
  // A scope begins with @ too.
  const at = text.indexOf('@', 1)
  const [name, wanted] = at === -1 ? [text, 'latest'] : [text.slice(0, at), text.slice(at + 1)]
  const isArchive = /\.(?:tgz|tar\.gz)$/.test(text)
  if (NPM_NAME_PATTERN.test(name) && WANTED.test(wanted) && !isArchive) {
    if (name.length > NPM_NAME_CHARS) throw invalid(text, `has a name of more than ${NPM_NAME_CHARS} characters`)
    return { kind: 'npm', name, wanted }
  }
  if (!isArchive && !/^\.{0,2}[/\\]|^\.{1,2}$|[/\\]/.test(text) && !isAbsolute(text)) {
    throw invalid(text, 'is neither a path nor a package name')
  }
  const path = resolve(cwd, text)
  const stat = statPath(path, text)
  if (stat === undefined) throw invalid(text, 'does not exist')
  if (stat.isDirectory()) return { kind: 'folder', path }
  if (stat.isFile() && isArchive) return { kind: 'tarball', path }
  throw invalid(text, stat.isFile() ? 'is not a .tgz file' : 'is neither a folder nor a file')
}

function statPath(path: string, text: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw invalid(text, `cannot be read: ${messageOf(error)}`)
  }
}

const invalid = (text: string, what: string) =>
  new BulkheadError('InstallSourceInvalid', `"${visibleText(text.slice(0, 300))}" ${what}. ${SPEC_FORMS}`)

const SPEC_FORMS = 'Use a folder such as ./weather, a tarball such as weather-1.4.0.tgz, '
  + 'or a package such as @acme/weather@1.4.0.'

/** A package in memory that is not accepted yet. */
export interface ObtainedPackage {
  /** As stored in the lock. */
  readonly source: string
  /** Where it was read, for messages. */
  readonly location: string
  readonly contents: PackageContents
  /** The builder that the registry attests; null without attestations. */
  readonly attested: ExtensionSigner | null
  /** The registry's answer about the version. */
  readonly attestations?: Json
  /** The version that the manifest of an npm package must have. */
  readonly version: string | null
  readonly warnings: readonly string[]
}

export interface Sources {
  readonly limits: LoaderLimits
  /** The registry of a package, by its name. Rejects if no registry is configured. */
  readonly registry: (name: string) => Promise<Registry>
  readonly trustRoot: Json
  readonly npmKeys?: Json
}

/** Fetches or reads a package. Writes nothing and runs nothing. Rejects with the fault of the package. */
export async function obtainPackage(spec: InstallSpec, sources: Sources, layerRoot: string): Promise<ObtainedPackage> {
  const { limits } = sources
  // A tarball is compressed, so a valid one is smaller than its content.
  const maxBytes = limits.packageBytes
  const local = { attested: null, version: null, warnings: [] }
  switch (spec.kind) {
    case 'folder': {
      const read = await readPackage(spec.path, limits, new Yielder(), () => true)
      if (!read.ok) {
        throw new BulkheadError(read.faults[0]!.code, `${visibleText(spec.path)}: ${read.faults[0]!.message}`)
      }
      const inPlace = dirname(spec.path) === join(layerRoot, 'tools')
      return {
        ...local, source: inPlace ? 'in-place' : `folder:${nameOf(spec.path)}`, location: spec.path,
        contents: read.value,
      }
    }
    case 'tarball': {
      const file = readRegularFile(spec.path, { maxBytes, followLinks: true })
      if (!file.ok) {
        throw new BulkheadError('InstallSourceInvalid', `The file ${visibleText(spec.path)} ${file.message}.`)
      }
      return {
        ...local, source: `tarball:${nameOf(spec.path)}`, location: spec.path,
        contents: await unpack(file.bytes, limits, spec.path),
      }
    }
    case 'npm': {
      const registry = await sources.registry(spec.name)
      const version = await registry.resolve(spec.name, spec.wanted)
      const location = `${version.name}@${version.version}`
      const bytes = await registry.tarball(version, maxBytes)
      const contents = await unpack(bytes, limits, location)
      const { warnings, ...answer } = await attest(version, bytes, registry, sources)
      const deprecation = version.deprecated === null ? [] : [`This version is deprecated: ${version.deprecated}`]
      return {
        source: `npm:${location}`, location, contents, version: version.version, ...answer,
        warnings: [...deprecation, ...warnings],
      }
    }
  }
}

/** Rejects with PackageUnsafe. */
export async function unpack(bytes: Uint8Array, limits: LoaderLimits, name: string): Promise<PackageContents> {
  const read = await readTarballApart({ bytes, limits })
  if (!read.ok) throw unsafe(name, `The archive ${read.message}`)
  for (const [path, content] of read.files) {
    const bound = boundOf(path, limits)
    if (content.length > bound) {
      throw unsafe(name, `The file "${visibleText(path)}" has ${content.length} bytes; ${bound} are allowed`)
    }
  }
  return contentsOf(read.files)
}

async function attest(
  version: RegistryVersion, bytes: Uint8Array, registry: Registry, { trustRoot, npmKeys }: Sources,
) {
  if (version.attestations === null) return { attested: null, warnings: [] }
  let attestations: Json
  try {
    attestations = await registry.attestations(version.attestations)
  } catch (error) {
    // Not fatal here: a required or earlier signature is checked later.
    return { attested: null, warnings: [`The attestations of the registry cannot be fetched: ${messageOf(error)}`] }
  }
  const verification = await verifyNpmAttestations({
    attestations, name: version.name, version: version.version,
    tarballSha512: sha512(bytes), trustRoot, ...(npmKeys !== undefined && { keys: npmKeys }),
  })
  if (!verification.ok) {
    throw new BulkheadError(verification.code, `${verification.message} ${verification.cure}`, {
      data: { step: verification.step },
    })
  }
  return { attested: verification.value.builder, attestations, warnings: [] }
}

const unsafe = (name: string, what: string) => new BulkheadError('PackageUnsafe', `${visibleText(name)}: ${what}.`)

/** The name without the path, because locks are shared between machines. */
const nameOf = (path: string): string => visibleText(basename(path)).slice(0, 255)

export interface ProvenPackage {
  readonly extension: ExtensionDescriptor
  readonly warnings: readonly string[]
  readonly context: ProofContext
}

/** Runs all stages except the lock, as if the package were in the layer. Rejects with the fault of the package. */
export async function provePackage(
  obtained: ObtainedPackage, settings: Settings, layer: Layer, projectRoot: string | null,
  { anyCore = false, placed = async (fault: Fault) => fault } = {},
): Promise<ProvenPackage> {
  const { source, attested, location, contents, version } = obtained
  const context = { ...contextFor(settings, layer, projectRoot, { kind: 'deciding', source, attested }), anyCore }
  const proof = await proveContents({ layer, location, part: location }, contents, context)
  if (proof.kind === 'disabled') {
    throw new BulkheadError('ConfigInvalid', `The configuration disables "${proof.id}". Enable it first.`)
  }
  if (proof.kind === 'refused') throw faultError(await Promise.all(proof.faults.map(placed)))
  const { descriptor, warnings } = proof
  if (version !== null && descriptor.version !== version) {
    throw new BulkheadError(
      'PackageUnsafe', `The package is ${location}, but its ${MANIFEST_FILE} has version ${descriptor.version}.`,
    )
  }
  return {
    extension: withCode(descriptor, contents),
    warnings: [...obtained.warnings, ...warnings.map(({ message }) => message)], context,
  }
}

/** The code is the proven bytes in memory, since they are not installed yet. */
function withCode(descriptor: ExtensionDescriptor, { bytes }: PackageContents): ExtensionDescriptor {
  const files = new Map([...bytes].filter(([path]) => isCovered(path)))
  return Object.freeze({ ...descriptor, code: Object.freeze({ kind: 'files' as const, readFiles: async () => files }) })
}

function contextFor(settings: Settings, layer: Layer, projectRoot: string | null, lock: LayerLock): ProofContext {
  const { coreVersion, limits, trustRoot } = settings
  const { config } = resolveConfig(settings, projectRoot, undefined)
  return {
    coreVersion, config, limits, yielder: new Yielder(), locks: new Map([[layer, lock]]),
    schemas: new WorkerSchemaChecker(limits), signatures: new PackageSignatures(trustRoot),
  }
}

export interface Inspection {
  readonly extension: ExtensionDescriptor
  readonly files: number
  readonly bytes: number
  readonly warnings: readonly string[]
}

export interface InspectOptions {
  /** Accept a package for other versions of the host. */
  readonly anyCore?: boolean
  /** The registry of a package, by its name. Without it, packages of registries are refused, and no request is made. */
  readonly registryFor?: (name: string) => Promise<RegistryOptions>
}

/**
 * Proves a folder, a tarball or a package of a registry under the policy of the global layer. Writes nothing. Rejects
 * with the fault of the package.
 */
export async function inspectPackage(
  path: string, cwd: string, options: LoaderOptions, reading: InspectOptions = {},
): Promise<Inspection> {
  const settings = resolveSettings(options)
  const spec = parseInstallSpec(path, cwd)
  const { limits, trustRoot } = settings
  const registry = async (name: string): Promise<Registry> => {
    if (reading.registryFor !== undefined) return new Registry(await reading.registryFor(name))
    throw new BulkheadError('InstallSourceInvalid', `"${path}" is a package name. Use a folder or a tarball.`)
  }
  const obtained = await obtainPackage(spec, { limits, trustRoot: trustRoot.json, registry }, '')
  const { extension, warnings } = await provePackage(obtained, settings, 'global', null, reading)
  const sizes = [...obtained.contents.bytes.values()].map(({ length }) => length)
  return { extension, warnings, files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}
