import type { Layer, LayerConfig } from '@bulkhead/contract'
import type { Settings } from '../config/settings.ts'
import { lockOf, readLayerLock, type LayerLocks } from '../lock/layer-lock.ts'
import { discover, discoverInstalled, type Discovery, type Located } from './extension-folders.ts'
import { discoverPackages, packageFoldersOf, type PackageBase } from './npm-packages.ts'

/** A project that may be read. */
export interface OpenProject {
  readonly workspace: string
  readonly root: string
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
    bundled: embedders, embedder: embedders, global: own, project: { folder: project?.workspace ?? null, linksLeadOut: false },
  }
  const configsOf = (layer: Layer): readonly LayerConfig[] =>
    configs.filter((config) => layer === (config.layer === 'project' ? 'project' : 'global'))
  const sourceOf = (layer: Layer, root: string | null): LayerSource => ({
    layer,
    root: root ?? '',
    packageFolders: configsOf(layer).flatMap((config) => packageFoldersOf(config, bases[config.layer])),
    discovery: join([
      ...(root === null ? [] : [discover(layer, root, limits.extensions), discoverInstalled(layer, root, lockOf(locks, layer))]),
      ...configsOf(layer).map((config) => discoverPackages(layer, config, bases[config.layer])),
    ]),
  })
  return [
    ...(bundledRoot === null ? [] : [sourceOf('bundled', bundledRoot)]), sourceOf('global', globalRoot),
    ...(project === null ? [] : [sourceOf('project', project.root)]),
  ]
}

/** Two configurations may name the same package. */
function join(discoveries: readonly Discovery[]): Discovery {
  const found = new Map<string, Located>()
  for (const discovery of discoveries) for (const located of discovery.found) found.set(located.location, located)
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
