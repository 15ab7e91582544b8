import type { CommandWallName } from '../author/runtime.ts'

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
