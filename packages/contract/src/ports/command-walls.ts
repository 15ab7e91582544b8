import { globsOverlap } from '@bulkhead/kit/glob'
import { hostsOverlap } from '@bulkhead/kit/hosts'
import type { CommandWallName } from '../author/runtime.ts'
import type { CallUse } from './use-rules.ts'

/** The wall that the host chose for the commands of a call, after every question was answered. */
export interface CommandWall {
  readonly wall: CommandWallName
  /** For `work`: what the commands may reach. Absent: nothing. */
  readonly hosts?: readonly string[] | 'all'
  /** Names of the keys that the commands may use on the way to these hosts. Absent: none. */
  readonly keys?: readonly string[]
}

/** What stands around commands on this machine. */
export interface CommandWalls {
  /** Commands that change nothing, see the workspace and the system, and reach nothing. */
  readonly look: boolean
  /** Commands that write to the workspace only. */
  readonly work: boolean
  /** A network of its own: hosts can be granted one by one. */
  readonly network: boolean
  /**
   * What hides files with credentials and variables in the workspace from `look`. `mount` covers them. `grants` leaves
   * them out, up to a number of entries beside them.
   */
  readonly masks: 'mount' | 'grants' | 'none'
}

export const NO_COMMAND_WALLS: CommandWalls = { look: false, work: false, network: false, masks: 'none' }

interface ReachedFolders {
  /** The workspace and the folders beside it. */
  readonly roots: readonly string[]
  /** What every command may read. */
  readonly system: readonly string[]
}

/**
 * Whether a command behind a wall could use something, given as a pattern. The commands that it runs are known, so they do
 * not count.
 */
export function mayReach(
  { capability, subject }: CallUse, { wall, hosts = [] }: CommandWall, { roots, system }: ReachedFolders,
): boolean {
  const isIn = (folders: readonly string[]): boolean => folders.some((root) => globsOverlap(`${root}/**`, subject))
  switch (capability) {
    case 'fs.read': return wall === 'open' || isIn([...roots, ...system])
    case 'fs.write': return wall === 'open' || (wall === 'work' && isIn(roots))
    case 'net.fetch': return wall === 'open' || hosts === 'all' || hosts.some((host) => hostsOverlap(host, subject))
    case 'shell.run': return false
  }
}
