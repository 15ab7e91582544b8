import { confirmLayers, findAgain, findOsLayers, requiredLayers, withoutLayers, type OsMode } from '../os/os-layers.ts'
import type { OsLayers } from '../os/os-layer.ts'
import { missingWall } from '../os/standing-walls.ts'
import { isReadyWithin, type EmptyHull, type HullShape, type StartHull } from './hull.ts'
import { loadImage } from './image.ts'
import { processStarter } from './process-hull.ts'

/** How hulls are started. `first` is running already. */
export interface HullStarter {
  readonly start: StartHull
  readonly first?: EmptyHull | undefined
}

export interface WalledHullsOptions {
  readonly os: OsMode
  /** Where the results of trials are kept. Absent: each process tries. */
  readonly folder: string | undefined
  /** Called when the first hull has started, or a trial. */
  readonly onBegun: () => void
  /** Called with the layers around every hull, before the first one is used. */
  readonly onLayers: (layers: OsLayers) => void
}

/**
 * Child processes behind the walls that work here. If an earlier process tried the walls, the first hull starts at once,
 * and must show that they stand before it gets any code. If it does not, everything is tried again.
 */
export async function walledHulls(
  shape: HullShape, { os, folder, onBegun, onLayers }: WalledHullsOptions,
): Promise<HullStarter> {
  const [image, { layers, isKept }] = await Promise.all([loadImage(), os === 'off' ? WITHOUT : findOsLayers(folder, onBegun)])
  if (isKept) {
    const start = processStarter(image, layers)
    const first = await provenHull(start, shape, layers, onBegun)
    if (first !== undefined) {
      confirmLayers(layers)
      onLayers(requiredLayers(os, layers))
      return { start, first }
    }
  }
  const tried = isKept ? (await findAgain(folder)).layers : layers
  onLayers(requiredLayers(os, tried))
  return { start: processStarter(image, tried) }
}

const ALIVE_MS = 1_000
const WITHOUT = { layers: withoutLayers('it is disabled'), isKept: false }

/** A hull whose walls stand. Undefined if it ended, or lacks a wall; then nothing of it is left. */
async function provenHull(
  start: StartHull, shape: HullShape, layers: OsLayers, onBegun: () => void,
): Promise<EmptyHull | undefined> {
  let hull: EmptyHull
  try {
    hull = start(shape, false)
  } catch {
    return undefined
  }
  onBegun()
  // A hull does not keep the host alive; waiting for it does.
  const alive = setInterval(() => undefined, ALIVE_MS)
  const isReady = await isReadyWithin(hull)
  clearInterval(alive)
  if (isReady && hull.pid !== undefined && missingWall(hull.pid, layers) === undefined) return hull
  hull.kill()
  await hull.exited
  return undefined
}
