import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { Worker } from 'node:worker_threads'
import {
  BulkheadError, MANIFEST_FILE, type ConfigFile, type ExtensionDescriptor, type Manifest,
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
import { checkShape, readManifest } from '../prove/check-manifest.ts'
import type { ModuleFault, ModuleRequest } from './module-thread.ts'

export interface PackOptions extends InspectOptions {
  /** Roots and configuration are ignored, so that packing is reproducible. */
  readonly loader: LoaderOptions
  /** A configuration to check against the configSchema. Without it, a required configuration is a warning. */
  readonly config?: JsonObject
  /** Bundles a module with its imports into one ES module. Called if the code uses dependencies in node_modules. */
  readonly bundle?: (main: string) => Promise<string>
}

export interface Packed {
  readonly extension: ExtensionDescriptor
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Files of the folder that are not in the package. */
  readonly leftOut: readonly string[]
  readonly bundled: boolean
  readonly integrityFile: string
  readonly tarball: Uint8Array
  readonly warnings: readonly string[]
}

/**
 * Packs a folder: checks it like the loader does, and adds the integrity file. Writes nothing. Rejects with the fault
 * of the package.
 */
export async function packFolder(
  folder: string, { loader, bundle, config, anyCore = false }: PackOptions,
): Promise<Packed> {
  const unconfigured = resolveSettings({ ...loader, roots: { ...loader.roots, global: null } })
  const skipped: string[] = []
  const skip = (path: string): boolean => isNeverPacked(path) && skipped.push(path) > 0
  const read = await readPackage(folder, unconfigured.limits, new Yielder(), () => true, skip)
  if (!read.ok) throw faultError(read.faults)
  const { bytes } = read.value
  const packed = packedPaths([...bytes.keys()], bytes.get('package.json'))
  const files = new Map(packed.filter((path) => path !== INTEGRITY_FILE).map((path) => [path, bytes.get(path)!]))
  const unportable = [...files.keys()].flatMap(nameFaults)
  if (unportable.length > 0) throw faultError(unportable)

  const bundled = skipped.includes('node_modules') && usesDependencies(folder, files)
  if (bundled) {
    const main = mainOf(folder, files)
    if (bundle === undefined) {
      throw new BulkheadError(
        'ModuleNotFound', 'The code uses dependencies in node_modules, and no bundler is configured.',
      )
    }
    files.set(main, Buffer.from(await bundle(main)))
  }
  const integrityFile = integrityText(coveredFiles(contentsOf(files).digests))
  files.set(INTEGRITY_FILE, Buffer.from(integrityFile))

  const settings = config === undefined
    ? unconfigured : { ...unconfigured, defaults: configFor(manifestOf(folder, files), config) }
  const { extension, warnings } = await provePackage({
    source: 'in-place', location: folder, contents: contentsOf(files), attested: null, version: null, warnings: [],
  }, settings, 'global', null, { anyCore })
  await parseModules(extension.manifest.main.slice('./'.length), files)
  return {
    extension, files, bundled, integrityFile, tarball: await writeTarball(files),
    warnings: [...warnings, ...packageWarnings(files.get('package.json'), extension.version, skipped)],
    leftOut: [...skipped, ...[...bytes.keys()].filter((path) => !files.has(path))].toSorted(byteOrder),
  }
}

function nameFaults(path: string): readonly Fault[] {
  const found = path.split('/').flatMap((name) => findWindowsFault(name) ?? [])
  return found.slice(0, 1).map((what) => ({
    ...unsafeFile(path, what), cure: 'Rename it, so that the package can be installed on all systems.',
  }))
}

/** Contradictions between package.json and the manifest. */
function packageWarnings(
  packageJson: Uint8Array | undefined, version: string, skipped: readonly string[],
): readonly string[] {
  const parsed = packageJson && parseStrictJson(packageJson)
  const { version: packageVersion = version, dependencies = {} } = parsed?.ok && isJsonObject(parsed.value)
    ? parsed.value : {}
  const isOther = typeof packageVersion === 'string' && packageVersion !== version
  const lacks = isJsonObject(dependencies) && Object.keys(dependencies).length > 0 && !skipped.includes('node_modules')
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

function manifestOf(folder: string, files: ReadonlyMap<string, Uint8Array>): Manifest {
  const shaped = next(readManifest({ layer: 'global', location: folder, part: '' }, contentsOf(files)), checkShape)
  if (!shaped.ok) throw faultError(shaped.faults)
  return shaped.value.manifest
}

function mainOf(folder: string, files: ReadonlyMap<string, Uint8Array>): string {
  const main = manifestOf(folder, files).main.slice('./'.length)
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

/** The files to pack: all of them, or those in `files` of package.json. */
function packedPaths(paths: readonly string[], packageJson: Uint8Array | undefined): readonly string[] {
  const listed = filesOf(packageJson)
  const globs = listed?.map((pattern) => compileGlob(pattern.replace(/^\.?\//, '').replace(/\/$/, '')))
  if (globs === undefined) return paths
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

/** Available in all compartments. */
const PROVIDED = '@bulkhead/contract'

/**
 * Whether the code mentions a package in `node_modules`, so that it must be bundled. Does not parse: any quoted name
 * counts, because an unnecessary bundle costs less than a missing dependency.
 */
function usesDependencies(folder: string, files: ReadonlyMap<string, Uint8Array>): boolean {
  const about = files.get('package.json')
  const parsed = about && parseStrictJson(about)
  // Import maps may point at dependencies; the bundler resolves them.
  if (parsed?.ok && isJsonObject(parsed.value) && parsed.value['imports'] !== undefined) return true
  const code = [...files].filter(([path]) => /\.[cm]?js$/.test(path)).map(([, bytes]) => Buffer.from(bytes).toString())
  const installed = installedIn(join(folder, 'node_modules'))
  return code.some((text) => text.includes('node_modules/') || installed.some((name) => names(text, name)))
}

function names(text: string, dependency: string): boolean {
  for (let at = text.indexOf(dependency); at >= 0; at = text.indexOf(dependency, at + 1)) {
    const [before, after] = [text[at - 1] ?? '', text[at + dependency.length] ?? '']
    if (/['"`]/.test(before) && /['"`/]/.test(after)) return true
  }
  return false
}

const installedIn = (folder: string): readonly string[] =>
  globSync(['[!@.]*', '@*/*'], { cwd: folder }).map((path) => path.replaceAll(sep, '/'))
    .filter((name) => name !== PROVIDED)

const PARSED_FILE = /\.(?:m?js|json)$/

/**
 * Parses the main module and its imports, so that a package that no host can import is not packed. Runs no code.
 * Rejects with CompartmentStartFailed for a syntax error, and with ModuleNotFound for an import that cannot be loaded.
 */
export async function parseModules(main: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const parsed = [...files].filter(([path]) => PARSED_FILE.test(path))
  const request: ModuleRequest = {
    main, names: new Set(files.keys()),
    sources: new Map(parsed.map(([path, bytes]) => [path, new TextDecoder().decode(bytes)])),
  }
  const worker = new Worker(new URL('./module-thread.ts', import.meta.url), {
    workerData: request, env: {}, execArgv: ['--experimental-vm-modules', '--no-warnings'],
  })
  const [fault] = await once(worker, 'message') as [ModuleFault | null]
  if (fault !== null) throw inWords(fault)
}

function inWords(fault: ModuleFault): BulkheadError {
  const path = visibleText(fault.path)
  if (fault.kind === 'import') {
    return new BulkheadError('ModuleNotFound', [
      `${path} imports "${visibleText(fault.specifier)}", which is neither in the package nor installed in`,
      'node_modules next to the manifest. Install it there, or import a file by its relative path, and try again.',
    ].join(' '))
  }
  if (fault.kind === 'form') {
    return new BulkheadError('ModuleNotFound', [
      `${path} imports "${visibleText(fault.specifier)}", which is neither an ES module (.js, .mjs), JSON nor`,
      'WebAssembly, so no host can load it. Build an ES module from it, import that, and try again.',
    ].join(' '))
  }
  const place = fault.line === null ? path : `${path}, line ${fault.line},`
  return new BulkheadError(
    'CompartmentStartFailed', `${place} cannot be parsed: ${visibleText(fault.message)}. Correct it and try again.`,
  )
}
