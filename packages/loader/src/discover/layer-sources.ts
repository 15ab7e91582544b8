import type { Layer, LayerConfig } from '@bulkhead/contract'
import type { Settings } from '../config/settings.ts'
import { lockOf, readLayerLock, type LayerLocks } from '../lock/layer-lock.ts'
import { discover, discoverInstalled, type Discovery, type Located } from './extension-folders.ts'
import { discoverPackages, packageFoldersOf, type PackageBase } from './npm-packages.ts'

/** The project as far as it may be read: its workspace, and the root of its layer there. */
export interface OpenProject {
  readonly workspace: string
  readonly root: string
}

/** A folder with the extensions of a layer. */
export interface LayerSource {
  readonly layer: Layer
  /** What stands for the whole of it. */
  readonly root: string
  /** The folders in which packages that are named come and go. */
  readonly packageFolders: readonly string[]
  readonly discovery: Discovery
}

/** Everything that may be an extension, from the lowest layer up: folders first, then what is installed, then packages that are named. */
export function layerSources(
  settings: Settings, project: OpenProject | null, configs: readonly LayerConfig[], locks: LayerLocks,
): readonly LayerSource[] {
  const { bundledRoot, globalRoot, packagesRoot, limits } = settings
  const own: PackageBase = { folder: globalRoot, linksLeadOut: true }
  const embedders: PackageBase = { folder: packagesRoot, linksLeadOut: true }
  const bases: Readonly<Record<LayerConfig['layer'], PackageBase>> = {
    bundled: embedders, embedder: embedders, global: own, project: { folder: project?.workspace ?? null, linksLeadOut: false },
  }
  const configsOf = (layer: Layer): readonly LayerConfig[] =>
    configs.filter((config) => layer === (config.layer === 'project' ? 'project' : 'global'))
  const place = (layer: Layer, root: string | null): LayerSource => ({
    layer,
    root: root ?? '',
    packageFolders: configsOf(layer).flatMap((config) => packageFoldersOf(config, bases[config.layer])),
    discovery: join([
      ...(root === null ? [] : [discover(layer, root, limits.extensions), discoverInstalled(layer, root, lockOf(locks, layer))]),
      ...configsOf(layer).map((config) => discoverPackages(layer, config, bases[config.layer])),
    ]),
  })
  return [
    ...(bundledRoot === null ? [] : [place('bundled', bundledRoot)]), place('global', globalRoot),
    ...(project === null ? [] : [place('project', project.root)]),
  ]
}

/** One package may be named by two files. */
function join(discoveries: readonly Discovery[]): Discovery {
  const found = new Map<string, Located>()
  for (const discovery of discoveries) for (const located of discovery.found) found.set(located.location, located)
  return {
    found: [...found.values()],
    refused: discoveries.flatMap(({ refused }) => refused),
    faults: discoveries.flatMap(({ faults }) => faults),
  }
}

/** What was accepted in each layer that may be read. */
export function locksOf({ globalRoot, limits }: Settings, project: OpenProject | null): LayerLocks {
  const roots = [['global', globalRoot], ['project', project?.root ?? null]] as const
  return new Map(roots.flatMap(([layer, root]) => root === null ? [] : [[layer, readLayerLock(root, limits)] as const]))
}
