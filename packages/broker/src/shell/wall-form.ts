import type { Argv } from './command-environment.ts'
import type { LaunchWall } from '../walls/launcher.ts'
import type { DeniedPlace } from './denied-places.ts'
import type { PrivateFolder } from './private-folder.ts'

/** look: changes nothing and reaches nothing. work: the workspace can be written. open: no wall. */
export type CommandWall = 'look' | 'work' | 'open'

/** What a wall is made of. */
export interface WallForm {
  readonly wall: 'look' | 'work'
  readonly isolated: boolean
  readonly visible: readonly string[]
  /** The whole network, or one of its own. */
  readonly isConnected: boolean
  /** The workspace and the folders beside it, canonical. */
  readonly roots: readonly string[]
  /** What rules deny in these folders now. */
  readonly denied?: readonly DeniedPlace[]
}

/** What each command has of its own. */
export interface WallOwn {
  readonly folder: PrivateFolder
  /** The folder of the relay on the host, if the command sees it. */
  readonly relay: string | undefined
}

/** The arguments before a command. Release it when the command is gone. */
export interface SandboxPrefix {
  readonly argv: Argv
  /** Follows `argv`: the command that runs another one, with these descriptors, beside the relay. */
  readonly relay?: (descriptors: readonly number[]) => Argv
  /** The command is started by the launcher, behind this wall. */
  readonly launch?: LaunchWall
  /** The launcher runs in a network of its own: the command that runs another one there. */
  readonly network?: (descriptors: readonly number[], command: Argv) => Argv
  /** A filter for system calls, which bubblewrap reads from FILTER_FD. */
  readonly filter?: Uint8Array
  /** Replace those of the environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** What rules deny, and the wall hides. */
  readonly denied?: readonly DeniedPlace[] | undefined
  /** What its relay refused so far, a line each. */
  readonly refused?: ReadonlySet<string>
  release(): Promise<void>
}

/** After the files that the outputs of a command go to. */
export const FILTER_FD = 5
/** Where the shell of a whole pipe reports how its commands ended. A spare launcher has a pipe there. */
export const REPORT_FD = 3

export const NO_SANDBOX: SandboxPrefix = { argv: [], release: async () => undefined }
