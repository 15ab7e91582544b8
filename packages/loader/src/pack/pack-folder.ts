import {
  BulkheadError, MANIFEST_FILE, type CodeOrigins, type ConfigFile, type ExtensionDescriptor, type Manifest,
} from '@bulkhead/contract'
import { compileGlob, pathSegments } from '@bulkhead/kit/glob'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { resolveSettings, type LoaderOptions } from '../config/settings.ts'
import { coveredFiles, INTEGRITY_FILE, integrityText, SIGNATURE_FILE } from '../files/integrity.ts'
import { findWindowsFault, contentsOf, readPackage, unsafeFile } from '../files/read-package.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { writeTarball } from '../files/tar-format.ts'
import { provePackage, type InspectOptions } from '../install/obtain-package.ts'
import { byteOrder } from '../model/digest.ts'
import { faultError, next, type Fault } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import { checkShape, PACKAGE_FILE, readManifest } from '../prove/check-manifest.ts'
import { withoutBundled } from './bundled-dependencies.ts'
import { BundledFiles, type BundledFile } from './bundled-files.ts'
import { parseModules } from './parse-modules.ts'
import { writtenFault } from './written-faults.ts'
import { writtenOrigins } from './written-origins.ts'
import { buildSource, isTypeScript, typeScriptSource, usesDependencies, type SourceTools } from './source.ts'

export interface PackOptions extends InspectOptions {
  /** Roots and configuration are ignored, so that packing is reproducible, unless `forProject` is set. */
  readonly loader: LoaderOptions
  /** Prove it as a part of the project layer, under the configuration and policy of the user. */
  readonly forProject?: boolean
  /** Leave out an earlier signature, to make a new one. */
  readonly unsigned?: boolean
  /** A configuration to check against the configSchema. Without it, a required configuration is a warning. */
  readonly config?: JsonObject
  /** Outer folder of a monorepo. Packages that a package.json declares are also bundled from there. */
  readonly root?: string | undefined
  /**
   * Bundles a module with its imports into one ES module. Called if the main module is TypeScript, or the code uses
   * dependencies in node_modules.
   */
  readonly bundle?: SourceTools['bundle']
  /**
   * Runs the bundle in a compartment, and returns the part of the manifest that it declares. Called if the main module
   * is TypeScript and the manifest has no tools.
   */
  readonly describe?: NonNullable<SourceTools['describe']>
}

export interface Packed {
  readonly extension: ExtensionDescriptor
  readonly files: ReadonlyMap<string, Uint8Array>
  /** What the publisher gives the conformance suite, by path in the folder `fixtures`. */
  readonly fixtures: ReadonlyMap<string, Uint8Array>
  /** Files of the folder that are not in the package. */
  readonly leftOut: readonly string[]
  readonly bundled: boolean
  /** The files that the bundle is made of. */
  readonly sources: readonly BundledFile[]
  /** Real path of the outer folder, if one was given. */
  readonly root: string | undefined
  readonly integrityFile: string
  readonly tarball: Uint8Array
  readonly warnings: readonly string[]
}

/**
 * Packs a folder: checks it like the loader does, and adds the integrity file. Writes nothing. Rejects with the fault
 * of the package.
 */
export async function packFolder(
  folder: string,
  { loader, bundle, describe, config, root, anyCore = false, forProject = false, unsigned = false }: PackOptions,
): Promise<Packed> {
  const unconfigured = resolveSettings({ ...loader, roots: { ...loader.roots, global: null, machine: null } })
  const skipped: string[] = []
  const skip = (path: string): boolean => isNeverPacked(path) && skipped.push(path) > 0
  const read = await readPackage(folder, unconfigured.limits, new Yielder(), () => true, skip)
  if (!read.ok) throw faultError(read.faults)
  const { bytes } = read.value
  const source = typeScriptSource(folder, bytes)
  const packed = packedPaths([...bytes.keys()], bytes.get('package.json'), source !== undefined)
  const remade = new Set([INTEGRITY_FILE, ...(unsigned ? [SIGNATURE_FILE] : [])])
  let files = new Map(packed.filter((path) => !remade.has(path)).map((path) => [path, bytes.get(path)!]))
  const unportable = [...files.keys()].flatMap(nameFaults)
  if (unportable.length > 0) throw faultError(unportable)

  const sources = new BundledFiles(folder, root)
  let origins: CodeOrigins | undefined
  const isGenerated = source !== undefined && !('tools' in source.manifest)
  const placed = (fault: Fault): Promise<Fault> =>
    writtenFault(fault, { written: bytes, built: files, ...(isGenerated && { origins }) })
  const hasModules = skipped.includes('node_modules') || root !== undefined
  const bundled = source !== undefined || (hasModules && usesDependencies(sources, files))
  if (bundled) {
    if (bundle === undefined) throw new BulkheadError('ModuleNotFound', NO_BUNDLER)
    if (source === undefined) {
      const main = mainOf(await manifestOf(folder, files, placed), files)
      const built = await bundle(main, sources)
      files.set(main, Buffer.from(built.code))
      origins = built.origins
    } else {
      const { coreVersion } = loader
      const built = await buildSource(source, files, { bundle, sources, coreVersion, ...(describe && { describe }) })
      files = built.files
      origins = built.origins
    }
  }
  const packageJson = files.get(PACKAGE_FILE)
  if (packageJson && hasModules) files.set(PACKAGE_FILE, withoutBundled(packageJson, sources.packages(), files))
  const integrityFile = integrityText(coveredFiles(contentsOf(files).digests))
  files.set(INTEGRITY_FILE, Buffer.from(integrityFile))

  const settings = forProject ? resolveSettings(loader) : config === undefined
    ? unconfigured : { ...unconfigured, defaults: configFor(await manifestOf(folder, files, placed), config) }
  const { extension, warnings } = await provePackage({
    source: 'in-place', location: folder, contents: contentsOf(files), attested: null, version: null, warnings: [],
  }, settings, forProject ? 'project' : 'global', null, { anyCore, placed })
  const main = extension.manifest.main.slice('./'.length)
  if (source === undefined) await parseModules(main, files, origins)
  return {
    extension: withOrigins(extension, origins ?? writtenOrigins(main, files)), files, fixtures: fixturesIn(bytes), bundled,
    sources: sources.list(), root: sources.root, integrityFile,
    tarball: await writeTarball(files),
    warnings: [...warnings, ...packageWarnings(packageJson, extension.version, hasModules)],
    leftOut: [...skipped, ...[...bytes.keys()].filter((path) => !files.has(path))].toSorted(byteOrder),
  }
}

function withOrigins(extension: ExtensionDescriptor, origins: CodeOrigins): ExtensionDescriptor {
  const { code } = extension
  return code.kind === 'files' ? { ...extension, code: { ...code, origins } } : extension
}

const NO_BUNDLER = 'The code is TypeScript or uses dependencies in node_modules, and no bundler is configured.'

function nameFaults(path: string): readonly Fault[] {
  const found = path.split('/').flatMap((name) => findWindowsFault(name) ?? [])
  return found.slice(0, 1).map((what) => ({
    ...unsafeFile(path, what), cure: 'Rename it, so that the package can be installed on all systems.',
  }))
}

/** Contradictions between package.json and the manifest. */
function packageWarnings(
  packageJson: Uint8Array | undefined, version: string, hasModules: boolean,
): readonly string[] {
  const parsed = packageJson && parseStrictJson(packageJson)
  const { version: packageVersion = version, dependencies = {} } = parsed?.ok && isJsonObject(parsed.value)
    ? parsed.value : {}
  const isOther = typeof packageVersion === 'string' && packageVersion !== version
  const lacks = isJsonObject(dependencies) && Object.keys(dependencies).length > 0 && !hasModules
  return [
    ...(isOther ? [
      `package.json has version ${visibleText(packageVersion)} and ${MANIFEST_FILE} has ${version}. `
        + 'A package from a registry can be installed only if both are equal',
    ] : []),
    ...(lacks ? [
      'package.json has dependencies, but there is no node_modules to bundle them from. '
        + 'If the code uses them, install them and pack again',
    ] : []),
  ]
}

const configFor = ({ id }: Manifest, config: JsonObject): ConfigFile =>
  ({ extensions: { [id]: { config } } }) as ConfigFile

async function manifestOf(
  folder: string, files: ReadonlyMap<string, Uint8Array>, placed: (fault: Fault) => Promise<Fault>,
): Promise<Manifest> {
  const shaped = next(readManifest({ layer: 'global', location: folder, part: '' }, contentsOf(files)), checkShape)
  if (!shaped.ok) throw faultError(await Promise.all(shaped.faults.map(placed)))
  return shaped.value.manifest
}

function mainOf(manifest: Manifest, files: ReadonlyMap<string, Uint8Array>): string {
  const main = manifest.main.slice('./'.length)
  if (!files.has(main)) {
    throw new BulkheadError('ShapeInvalid', `The folder has no ${visibleText(main)}, which the manifest names as main.`)
  }
  return main
}

/** Always packed, as npm does, with the files of Bulkhead. */
const ALWAYS = /^(?:package\.json|(?:readme|licen[cs]e|notice|changelog)(?:\..*)?)$/i
const OURS: ReadonlySet<string> = new Set([MANIFEST_FILE, INTEGRITY_FILE, SIGNATURE_FILE])

/** Never packed: dot files, which may be settings or secrets, installed dependencies, and earlier packages. */
const isNeverPacked = (path: string): boolean =>
  path.split('/').some((name) => name.startsWith('.') || name === 'node_modules') || /^[^/]+\.tgz$/.test(path)

/** For tests, so only a package that lists it has it. */
const FIXTURES = 'fixtures/'

/** The files in `fixtures`, by path in it. */
export const fixturesIn = (files: ReadonlyMap<string, Uint8Array>): Packed['fixtures'] => new Map([...files]
  .flatMap(([path, bytes]) => path.startsWith(FIXTURES) ? [[path.slice(FIXTURES.length), bytes] as const] : []))

/**
 * The files to pack: those in `files` of package.json, or all of them but fixtures; without the sources of a bundle.
 */
function packedPaths(
  paths: readonly string[], packageJson: Uint8Array | undefined, isBundle: boolean,
): readonly string[] {
  const listed = filesOf(packageJson)
  const globs = listed?.map((pattern) => compileGlob(pattern.replace(/^\.?\//, '').replace(/\/$/, '')))
  if (globs === undefined) {
    return paths.filter((path) => !path.startsWith(FIXTURES) && (!isBundle || !isTypeScript(path)))
  }
  const isListed = (path: string): boolean => globs.some((covers) => covers(pathSegments(path)).covers)
  return paths.filter((path) => OURS.has(path) || ALWAYS.test(path) || isListed(path))
}

function filesOf(packageJson: Uint8Array | undefined): readonly string[] | undefined {
  const parsed = packageJson === undefined ? undefined : parseStrictJson(packageJson)
  if (parsed === undefined) return undefined
  if (!parsed.ok) throw new BulkheadError('ShapeInvalid', `package.json ${parsed.message}.`)
  const files: Json | undefined = isJsonObject(parsed.value) ? parsed.value['files'] : undefined
  if (files === undefined) return undefined
  const isPattern = (item: Json): item is string => typeof item === 'string' && !item.startsWith('!')
  const listed: readonly Json[] = Array.isArray(files) ? files : [null]
  if (listed.every(isPattern)) return listed
  throw new BulkheadError(
    'ShapeInvalid', 'package.json: `files` must be a list of paths and patterns without negation.',
  )
}
