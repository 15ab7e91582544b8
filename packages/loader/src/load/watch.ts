import type { Layer, WatchRequest } from '@bulkhead/contract'
import type { Settings } from '../config/settings.ts'
import type { OpenProject } from '../discover/layer-sources.ts'
import { findProjectFault, locateProjectLayer } from '../trust/project-layer.ts'
import { EMPTY_LAYER } from '../trust/project-digest.ts'
import { FolderWatchers } from './folder-watchers.ts'
import { layerPrints } from '../watch/layer-print.ts'

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
