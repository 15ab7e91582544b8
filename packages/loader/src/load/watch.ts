import { lstatSync, statSync, watch, type FSWatcher } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CONFIG_FILE, LOCK_FILE, type Layer, type LayerConfig, type WatchRequest } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { realOf } from '@bulkhead/kit/programs'
import { resolveConfig } from '../config/resolve-config.ts'
import type { Settings } from '../config/settings.ts'
import { AGENT_FOLDER } from '../discover/agents.ts'
import { TOOLS_FOLDER } from '../discover/extension-folders.ts'
import { layerSources, locksOf, type OpenProject } from '../discover/layer-sources.ts'
import { outerSkillFolders, projectSkillFolders, userSkillFolders } from '../discover/skills.ts'
import { readApiDocument } from '../files/api-document.ts'
import { listFolder } from '../files/read-package.ts'
import { stampOf } from '../files/read-file.ts'
import { sha512 } from '../model/digest.ts'
import { EMPTY_LAYER, findProjectFault, locateProjectLayer } from '../trust/project-layer.ts'

/** Changes are reported after this long without another one, and at the latest after MAX_DELAY_MS. */
const DEBOUNCE_MS = 100
const MAX_DELAY_MS = 2_000
/** How often to look again because a folder appeared while others were being watched. */
const MAX_ROUNDS = 5

/** By layer: a digest of what a load would read, or the kind of a project layer that may not be read. */
type Fingerprints = ReadonlyMap<Layer, string>

/**
 * Calls back once for a burst of changes to the files that a load would read. Compares stamps, so reads and changes
 * elsewhere do not count. In a project that is not trusted, only the existence of its folder is checked.
 */
export function watchLayers(
  request: WatchRequest, settings: Settings, onChange: (layers: readonly Layer[]) => void,
): () => void {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let burstStart = 0
  const schedule = (): void => {
    if (closed) return
    const now = performance.now()
    if (timer === undefined) burstStart = now
    clearTimeout(timer)
    timer = setTimeout(compare, Math.max(0, Math.min(DEBOUNCE_MS, burstStart + MAX_DELAY_MS - now))).unref()
  }
  const watchers = new FolderWatchers(schedule)
  let fingerprints = takeFingerprints(request, settings, watchers)

  function compare(): void {
    timer = undefined
    if (closed) return
    const before = fingerprints
    fingerprints = takeFingerprints(request, settings, watchers)
    const layers = [...new Set([...before.keys(), ...fingerprints.keys()])]
      .filter((layer) => before.get(layer) !== fingerprints.get(layer))
    if (layers.length > 0) onChange(layers)
  }

  return () => {
    closed = true
    clearTimeout(timer)
    watchers.close()
  }
}

function takeFingerprints(request: WatchRequest, settings: Settings, watchers: FolderWatchers): Fingerprints {
  const { workspace } = request
  for (let round = 1; ; round++) {
    const layer = locate(workspace, settings)
    // Trust in an empty project covers no content: once a layer appears, it needs a decision before it is read.
    const open = layer?.kind === 'folder' && findProjectFault(layer, request) === undefined
      && request.projectDigest !== EMPTY_LAYER
    const found = layerFingerprints(settings, open ? { workspace, root: layer.folder } : null)
    // A folder for skills may appear in one of these.
    const parents = outerSkillFolders(settings).map((folder) => dirname(join(workspace, folder)))
    const added = watchers.follow(new Set([workspace, ...parents, ...found.flatMap(({ folders }) => folders)]))
    if (added && round < MAX_ROUNDS) continue
    const fingerprints = new Map(found.map(({ layer: name, fingerprint }) => [name, fingerprint]))
    if (!open) fingerprints.set('project', layer?.kind ?? 'gone')
    return fingerprints
  }
}

function locate(workspace: string, settings: Settings): ReturnType<typeof locateProjectLayer> | undefined {
  try {
    return locateProjectLayer(workspace, settings)
  } catch {
    return undefined
  }
}

interface LayerFingerprint {
  readonly layer: Layer
  readonly fingerprint: string
  /** Where a change would show, including folders that do not exist yet. */
  readonly folders: readonly string[]
}

/** The rest of a larger layer is ignored. */
const MAX_ENTRIES = 100_000

/** Covers everything that a load would read. Opens only configuration, lock files and API documents, and lists folders. */
function layerFingerprints(settings: Settings, project: OpenProject | null): readonly LayerFingerprint[] {
  const { config } = resolveConfig(settings, project?.root ?? null, undefined)
  const sources = layerSources(settings, project, config.layers, locksOf(settings, project))
  return sources.filter(({ layer, root }) => root !== '' || layer === 'project').map((source) => {
    const { layer, root, packageFolders, discovery } = source
    const policy = settings.machine === null ? [] : [settings.machine.file]
    const skills = layer === 'bundled' ? [] : skillFolders(layer, project, config.layers, settings)
    const inRoot = (...names: readonly string[]) => root === '' ? [] : names.map((name) => join(root, name))
    const folders = [...inRoot(''), ...packageFolders, ...skills, ...policy.map((file) => dirname(file))]
    const lines = [...inRoot(CONFIG_FILE, LOCK_FILE), ...policy].map(lineOf)
    const packages = discovery.found.map(({ location }) => location)
      .filter((location) => root === '' || !location.startsWith(join(root, TOOLS_FOLDER)))
    for (const tree of [...inRoot(TOOLS_FOLDER, AGENT_FOLDER), ...skills, ...packages]) walk(tree, lines, folders)
    for (const document of documentsOf(config.layers, layer, layer === 'project' ? project!.workspace : root)) {
      const files = documentFiles(document, layer, settings.limits)
      lines.push(...files.map(lineOf))
      folders.push(...new Set(files.map((file) => dirname(file))))
    }
    return { layer, fingerprint: sha512(lines.join('\n')), folders }
  })
}

function skillFolders(
  layer: Exclude<Layer, 'bundled'>, project: OpenProject | null, layers: readonly LayerConfig[], settings: Settings,
): readonly string[] {
  if (layer === 'global') return userSkillFolders(settings)
  const { config = {} } = layers.find((one) => one.layer === 'project') ?? {}
  return projectSkillFolders(config, settings).map((folder) => join(project!.workspace, folder))
}

/** API documents. Paths are relative to the workspace for a project, and to the root for the global layer. */
const documentsOf = (layers: readonly LayerConfig[], layer: Layer, base: string): readonly string[] =>
  layers.filter((one) => one.layer === layer).flatMap(({ config }) => Object.values(config.openapi ?? {}))
    .flatMap(({ document }) => typeof document === 'string' ? [resolve(base, document)] : [])

/** The files of an API document. Only a project's document must not be a link. */
function documentFiles(document: string, layer: Layer, { fileBytes }: Settings['limits']): readonly string[] {
  const place = layer === 'project' ? document : realOf(document) ?? document
  return [...new Set([document, ...readApiDocument(place, fileBytes).files])]
}

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

/** The polling interval where the system cannot watch a folder. */
const POLL_MS = 2_000

interface Watched {
  readonly watcher: FSWatcher
  readonly identity: string
}

/** Reports possible changes in a set of folders. Does not keep the process alive. Must be closed. */
class FolderWatchers {
  readonly #onHint: () => void
  readonly #watched = new Map<string, Watched>()
  #poll: NodeJS.Timeout | undefined

  constructor(onHint: () => void) {
    this.#onHint = onHint
  }

  /**
   * Returns whether a folder was added, since earlier changes in it were missed. For a missing folder its nearest
   * parent is watched. The system watches an inode and not a path, so a replaced folder is added again.
   */
  follow(folders: ReadonlySet<string>): boolean {
    const wanted = new Map([...folders].map(nearestOf))
    for (const [folder, { identity }] of [...this.#watched]) if (wanted.get(folder) !== identity) this.#drop(folder)
    const added = [...wanted].filter(([folder]) => !this.#watched.has(folder))
    return added.filter(([folder, identity]) => this.#add(folder, identity)).length > 0
  }

  close(): void {
    for (const folder of [...this.#watched.keys()]) this.#drop(folder)
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #add(folder: string, identity: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onHint)
      watcher.on('error', () => {
        this.#drop(folder)
        this.#onHint()
      })
      this.#watched.set(folder, { watcher, identity })
      return true
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return true
      // Too many watches, or no right to read the folder.
      this.#poll ??= setInterval(this.#onHint, POLL_MS).unref()
      return false
    }
  }

  #drop(folder: string): void {
    this.#watched.get(folder)?.watcher.close()
    this.#watched.delete(folder)
  }
}

/**
 * The folder or its nearest existing parent, with its identity. Inode numbers are reused, so the birth time is part of
 * it.
 */
function nearestOf(folder: string): readonly [folder: string, identity: string] {
  try {
    const { dev, ino, birthtimeMs } = statSync(folder)
    return [folder, `${dev} ${ino} ${birthtimeMs}`]
  } catch {
    const above = dirname(folder)
    return above === folder ? [folder, ''] : nearestOf(above)
  }
}
