import type { Placement } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { loadImage, warmImage } from '../process/image.ts'
import type { MissingWalls } from '../os/missing-walls.ts'
import type { OsMode } from '../os/os-layers.ts'
import { osLayersFor } from '../os/os-layers.ts'
import { processStarter } from '../process/process-hull.ts'
import { threadStarter } from '../process/thread-hull.ts'
import { HullPool } from './hull-pool.ts'

export interface PoolOptions {
  /** Spares of each placement, started after its first opening. Default: one. */
  readonly spares?: { readonly process?: number; readonly thread?: number }
  /** Hulls and threads at once, spares included. Further openings wait. Default: 64 each. */
  readonly most?: { readonly hulls?: number; readonly threads?: number }
  /** Layers of the operating system around child processes: those that work, all or none runs, or none. */
  readonly os?: OsMode
}

export type PooledPlacement = Exclude<Placement, 'inline'>
export type Pools = Readonly<Record<PooledPlacement, HullPool>>

const SPARES = 1
const MOST = 64

/** `crowded` is called while openings of that placement wait. Contract: throws ConfigInvalid for an invalid count. */
export function createPools(
  { spares = {}, most = {}, os = 'auto' }: PoolOptions, walls: MissingWalls, crowded: (placement: PooledPlacement) => void,
): Pools {
  for (const [name, count] of Object.entries(spares)) requireCount(`spares.${name}`, count, 0)
  for (const [name, count] of Object.entries(most)) requireCount(`most.${name}`, count, 1)
  return {
    process: new HullPool({
      starter: async () => {
        const [image, layers] = await Promise.all([loadImage(), osLayersFor(os)])
        walls.ofProcesses(layers, os)
        return processStarter(image, layers)
      },
      beforeSpares: warmImage,
      most: most.hulls ?? MOST,
      spares: spares.process ?? SPARES,
      crowded: () => crowded('process'),
    }),
    thread: new HullPool({
      starter: async () => threadStarter(await loadImage()),
      beforeSpares: warmImage,
      most: most.threads ?? MOST,
      spares: spares.thread ?? SPARES,
      crowded: () => crowded('thread'),
    }),
  }
}

function requireCount(name: string, count: number, least: number): void {
  if (Number.isSafeInteger(count) && count >= least) return
  throw new BulkheadError('ConfigInvalid', `${name} of the sandbox is ${count}; it must be a whole number, ${least} or more.`)
}
