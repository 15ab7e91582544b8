import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CONFIG_FILE, LOCK_FILE, type Layer, type LayerConfig } from '@bulkhead/contract'
import { resolveConfig } from '../config/resolve-config.ts'
import { sha512 } from '../model/digest.ts'
import { TOOLS_FOLDER } from '../discover/extension-folders.ts'
import { listFolder } from '../files/list-folder.ts'
import { stampOf } from '../files/stamp.ts'
import type { Settings } from '../config/settings.ts'
import { locksOf, placesOf, type OpenProject } from '../discover/layer-sources.ts'

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
