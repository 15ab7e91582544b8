import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CONFIG_FILE, LOCK_FILE, type Layer, type LayerConfig, type WatchRequest } from '@bulkhead/contract'
import { resolveConfig } from '../config/resolve-config.ts'
import type { Settings } from '../config/settings.ts'
import { TOOLS_FOLDER } from '../discover/extension-folders.ts'
import { locksOf, placesOf, type OpenProject } from '../discover/layer-sources.ts'
import { listFolder } from '../files/list-folder.ts'
import { stampOf } from '../files/stamp.ts'
import { sha512 } from '../model/digest.ts'
import { EMPTY_LAYER } from '../trust/project-digest.ts'
import { findProjectFault, locateProjectLayer } from '../trust/project-layer.ts'
import { FolderWatchers } from './folder-watchers.ts'

/** A storm is over when nothing has stirred for this long, or when it has lasted so long that waiting helps nobody. */
const CALM_MS = 100
const STORM_MS = 2_000
/** A folder that appears while others are being watched is looked into again, but not for ever. */
const ROUNDS = 5

/** What the layers looked like: by layer, and whether the workspace has a layer of its own. */
type Picture = ReadonlyMap<Layer, string>

/**
 * Calls back once for each storm of changes to what a load would read. Stamps decide, so that what was only looked at, or
 * written beside, calls nobody. Of a project that is not trusted only its folder is looked at.
 */
export function watchLayers(request: WatchRequest, settings: Settings, onChange: (layers: readonly Layer[]) => void): () => void {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let stormBegan = 0
  const stir = (): void => {
    if (closed) return
    const now = performance.now()
    if (timer === undefined) stormBegan = now
    clearTimeout(timer)
    timer = setTimeout(calm, Math.max(0, Math.min(CALM_MS, stormBegan + STORM_MS - now))).unref()
  }
  const watchers = new FolderWatchers(stir)
  const look = (): Picture => takePicture(request, settings, watchers)
  let picture = look()

  function calm(): void {
    timer = undefined
    if (closed) return
    const before = picture
    picture = look()
    const layers = [...new Set([...before.keys(), ...picture.keys()])].filter((layer) => before.get(layer) !== picture.get(layer))
    if (layers.length > 0) onChange(layers)
  }

  return () => {
    closed = true
    clearTimeout(timer)
    watchers.close()
  }
}

function takePicture(request: WatchRequest, settings: Settings, watchers: FolderWatchers): Picture {
  const { workspace } = request
  for (let round = 1; ; round++) {
    const layer = locate(workspace, settings)
    // Where there was nothing, only the coming of a layer matters: it is decided about before it is looked into.
    const open = layer?.kind === 'folder' && findProjectFault(layer, request) === undefined && request.projectDigest !== EMPTY_LAYER
    const project: OpenProject | null = open ? { workspace, root: layer.root } : null
    const prints = layerPrints(settings, project)
    const added = watchers.follow(new Set([workspace, ...prints.flatMap(({ folders }) => folders)]))
    if (added && round < ROUNDS) continue
    const picture = new Map(prints.map(({ layer: name, print }) => [name, print]))
    if (!open) picture.set('project', layer?.kind ?? 'gone')
    return picture
  }
}

function locate(workspace: string, settings: Settings): ReturnType<typeof locateProjectLayer> | undefined {
  try {
    return locateProjectLayer(workspace, settings)
  } catch {
    return undefined
  }
}

/** What a layer looks like from outside, and the folders in which a change of it would show, there or not. */
export interface LayerPrint {
  readonly layer: Layer
  readonly print: string
  readonly folders: readonly string[]
}

/** Beyond this the rest of a layer is not looked at: nobody would load so much. */
const MAX_ENTRIES = 100_000

/** Of everything that a load would read. Opens configuration files and lists folders, and reads nothing else. */
export function layerPrints(settings: Settings, project: OpenProject | null): readonly LayerPrint[] {
  const { config } = resolveConfig(settings, project?.root ?? null, undefined)
  return placesOf(settings, project, config.layers, locksOf(settings, project)).filter(({ root }) => root !== '').map(({ layer, root, shelves, discovery }) => {
    const folders = [root, ...shelves]
    const lines = [lineOf(join(root, CONFIG_FILE)), lineOf(join(root, LOCK_FILE))]
    const packages = discovery.found.map(({ location }) => location).filter((location) => !location.startsWith(join(root, TOOLS_FOLDER)))
    for (const tree of [join(root, TOOLS_FOLDER), ...packages]) walk(tree, lines, folders)
    for (const document of documentsOf(config.layers, layer, layer === 'project' ? project!.workspace : root)) {
      lines.push(lineOf(document))
      folders.push(dirname(document))
    }
    return { layer, print: sha512(lines.join('\n')), folders }
  })
}

/** What tools are made of besides extensions: a project's counts from its workspace, the user's from where the settings are. */
const documentsOf = (layers: readonly LayerConfig[], layer: Layer, base: string): readonly string[] =>
  layers.filter((one) => one.layer === layer).flatMap(({ config }) => Object.values(config.openapi ?? {}))
    .map(({ document }) => resolve(base, document))

function walk(tree: string, lines: string[], folders: string[]): void {
  const pending = [tree]
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const left = MAX_ENTRIES - lines.length
    const listing = left > 0 ? listFolder(folder, left) : undefined
    lines.push(lineOf(folder))
    if (!listing?.ok) continue
    folders.push(folder)
    for (const { name, kind } of listing.entries) {
      const path = join(folder, name)
      if (kind === 'folder') pending.push(path)
      else lines.push(lineOf(path))
    }
  }
}

function lineOf(path: string): string {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? `${path} -` : `${path} ${stampOf(stat).join(' ')} ${stat.mode}`
  } catch {
    return `${path} ?`
  }
}
