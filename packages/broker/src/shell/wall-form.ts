import type { Argv } from './command-environment.ts'
import type { PrivateFolder } from './private-folder.ts'

/** look: changes nothing and reaches nothing. work: the workspace can be written. open: no wall. */
export type CommandWall = 'look' | 'work' | 'open'

/** What a wall is made of. */
export interface WallForm {
  readonly wall: 'look' | 'work'
  readonly isolated: boolean
  readonly visible: readonly string[]
  /** The whole network. */
  readonly isConnected: boolean
  /** The workspace and the folders beside it, canonical. */
  readonly roots: readonly string[]
}

/** What each command has of its own. */
export interface WallOwn {
  readonly folder: PrivateFolder
  /** The folder of the relay on the host. */
  readonly relay: string | undefined
}

/** The arguments before a command. Release it when the command is gone. */
export interface SandboxPrefix {
  readonly argv: Argv
  /** Hosts that were refused so far. */
  readonly refused?: ReadonlySet<string>
  release(): Promise<void>
}

export const NO_SANDBOX: SandboxPrefix = { argv: [], release: async () => undefined }
