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
  /** Places that wait locked down for their extension, from the first opening of their kind on. One each unless given. */
  readonly spares?: { readonly process?: number; readonly thread?: number }
  /** Hulls and threads at once, spares among them. Further openings wait in line. 64 each unless given. */
  readonly most?: { readonly hulls?: number; readonly threads?: number }
  /** What the operating system adds to the walls of a hull: what works here, all of it or nothing runs, or nothing. */
  readonly os?: OsMode
}

export type PooledPlacement = Exclude<Placement, 'inline'>
export type Pools = Readonly<Record<PooledPlacement, HullPool>>

const SPARES = 1
const MOST = 64

/** `crowded` is called while openings of that placement wait in line. Contract: throws ConfigInvalid for a number that is none of places. */
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
