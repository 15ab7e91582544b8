import { realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import type { Layer, LayerConfig } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { pointerStep } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Settings } from '../config/settings.ts'
import { lockOf, readLayerLock, type LayerLocks } from '../lock/lock-file.ts'
import type { Fault } from '../model/result.ts'
import { discover, discoverInstalled, type Discovery, type ExtensionCandidate } from './extension-folders.ts'

/** A project that may be read. */
export interface OpenProject {
  readonly workspace: string
  /** null for a project that has skills and no folder of its own. */
  readonly root: string | null
}

/** The extensions of one layer. */
export interface LayerSource {
  readonly layer: Layer
  /** Empty for a layer without a folder. */
  readonly root: string
  /** The folders that contain the configured npm packages. */
  readonly packageFolders: readonly string[]
  readonly discovery: Discovery
}

/** All possible extensions, from the lowest layer up: tool folders, installed packages, configured npm packages. */
export function layerSources(
  settings: Settings, project: OpenProject | null, configs: readonly LayerConfig[], locks: LayerLocks,
): readonly LayerSource[] {
  const { bundledRoot, globalRoot, packagesRoot, limits } = settings
  const own: PackageBase = { folder: globalRoot, linksLeadOut: true }
  const embedders: PackageBase = { folder: packagesRoot, linksLeadOut: true }
  const bases: Readonly<Record<LayerConfig['layer'], PackageBase>> = {
    bundled: embedders, embedder: embedders, machine: embedders, global: own,
    project: { folder: project?.workspace ?? null, linksLeadOut: false },
  }
  const configsOf = (layer: Layer): readonly LayerConfig[] =>
    configs.filter((config) => layer === (config.layer === 'project' ? 'project' : 'global'))
  const sourceOf = (layer: Layer, root: string | null): LayerSource => ({
    layer,
    root: root ?? '',
    packageFolders: configsOf(layer).flatMap((config) => packageFoldersOf(config, bases[config.layer])),
    discovery: mergeDiscoveries([
      ...(root === null
        ? [] : [discover(layer, root, limits.extensions), discoverInstalled(layer, root, lockOf(locks, layer))]),
      ...configsOf(layer).map((config) => discoverPackages(layer, config, bases[config.layer])),
    ]),
  })
  return [
    ...(bundledRoot === null ? [] : [sourceOf('bundled', bundledRoot)]), sourceOf('global', globalRoot),
    ...(project === null ? [] : [sourceOf('project', project.root)]),
  ]
}

/** Two configurations may name the same package. */
function mergeDiscoveries(discoveries: readonly Discovery[]): Discovery {
  const found = new Map<string, ExtensionCandidate>()
  for (const discovery of discoveries) for (const candidate of discovery.found) found.set(candidate.location, candidate)
  return {
    found: [...found.values()],
    refused: discoveries.flatMap(({ refused }) => refused),
    faults: discoveries.flatMap(({ faults }) => faults),
  }
}

/** The locks of the layers that may be read. */
export function locksOf({ globalRoot, limits }: Settings, project: OpenProject | null): LayerLocks {
  const roots = [['global', globalRoot], ['project', project?.root ?? null]] as const
  return new Map(roots.flatMap(([layer, root]) => root === null ? [] : [[layer, readLayerLock(root, limits)] as const]))
}

const PACKAGES_FOLDER = 'node_modules'

/** Where to look for the packages of a configuration. */
export interface PackageBase {
  /** The folder with node_modules; null for none. */
  readonly folder: string | null
  /** Whether a package may be a link out of the folder. Only for folders of the operator. */
  readonly linksLeadOut: boolean
}

/** The npm packages of one configuration, in its order. Other packages in node_modules are ignored. */
function discoverPackages(layer: Layer, { config, location }: LayerConfig, base: PackageBase): Discovery {
  const found: ExtensionCandidate[] = []
  const refused: Discovery['refused'][number][] = []
  const names = config.packages ?? []
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index) continue
    const part = `${PACKAGES_FOLDER}/${name}`
    const resolved = resolve(part, base)
    if ('path' in resolved) found.push({ layer, location: resolved.path, part })
    else refused.push({
      candidate: { layer, location, part }, fault: { ...resolved, path: `/packages${pointerStep(index)}`, location },
    })
  }
  return { found, refused, faults: [] }
}

/** The parent folders of these packages: node_modules and the folders of scopes. */
const packageFoldersOf = ({ config }: LayerConfig, { folder }: PackageBase): readonly string[] =>
  folder === null
    ? [] : [...new Set((config.packages ?? []).map((name) => dirname(join(folder, PACKAGES_FOLDER, name))))]

/** The npm scope of a package, such as @acme. */
export const scopeOfPart = (part: string): string | undefined => SCOPED_PART.exec(part)?.[1]
const SCOPED_PART = new RegExp(`^${PACKAGES_FOLDER}/(@[^/]+)/`)

/** Package managers create links in node_modules, so the target is checked. */
function resolve(part: string, { folder, linksLeadOut }: PackageBase): { readonly path: string } | Omit<Fault, 'path'> {
  const called = `The package "${visibleText(part.slice(PACKAGES_FOLDER.length + 1))}"`
  if (folder === null) return missing(`${called} is configured, but there is no folder to look for it.`)
  let path: string
  try {
    path = realpathSync(join(folder, part))
    if (!statSync(path).isDirectory()) return unsafe(`${called} is not a folder.`)
    if (!linksLeadOut && !isInside(realpathSync(folder), path)) {
      return unsafe(`${called} is a link that leads out of "${visibleText(folder)}".`)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return missing(`${called} is not in "${visibleText(join(folder, PACKAGES_FOLDER))}".`)
    }
    return unsafe(`${called} cannot be read: ${messageOf(error)}`)
  }
  return { path }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

const missing = (message: string): Omit<Fault, 'path'> => ({
  stage: 'locate', code: 'ExtensionNotFound', message,
  cure: 'Install the package there, or remove its name from the configuration.',
})
const unsafe = (message: string): Omit<Fault, 'path'> =>
  ({
    stage: 'locate', code: 'PackageUnsafe', message,
    cure: 'Replace it with the package, or remove its name from the configuration.',
  })
