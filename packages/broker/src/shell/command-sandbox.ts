import { realpathSync, statSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { fileFault } from '../fs/file-errors.ts'
import { succeeds } from './attempted-program.ts'
import type { Executables } from '../process/executable.ts'
import type { Argv } from './launcher.ts'
import { holdMountPoint } from './mount-point.ts'

export type WallKind = 'read' | 'work'

/** Where people keep what opens other doors. */
const KEYS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.password-store', '.mozilla',
  '.netrc', '.npmrc', '.pypirc', '.git-credentials', '.pgpass', '.bash_history', '.zsh_history',
]
/** Who may talk to it, rules the machine. */
const DOORS = ['/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']
/** Who may talk to these has others write, start and reach what a command that only reads may not: the buses of a session and of the system, a screen. */
const SERVANTS = ['/run/user', '/run/dbus', '/run/systemd/private', '/tmp/.X11-unix', '/tmp/.ICE-unix']

/** Learns that commands run without a sandbox. */
export interface MissingSandboxReporter {
  ofCommands(): void
}

export interface WallOptions {
  readonly workspace: string
  /** Those of the system. */
  readonly executables: Executables
  /** The home folder of whoever runs the host. */
  readonly home: string | undefined
  /** A folder of the workspace that no command writes, nor makes. */
  readonly projectLayer?: string | undefined
  /** Told when a command runs without the wall that it should have. */
  readonly walls?: MissingSandboxReporter | undefined
  /** No command runs where no wall works, also one that needs none. */
  readonly requiresSandbox?: boolean | undefined
}

/** What stands before a command. To be released when the command is gone. */
export interface StandingWall {
  readonly argv: Argv
  release(): Promise<void>
}

const NO_WALL: StandingWall = { argv: [], release: async () => undefined }

/**
 * A sandbox of the operating system around commands, where it works. Whether it does is found out once, by doing it; what it hides is
 * looked for before each command, since keys are made and taken away while a host runs.
 */
export class Wall {
  readonly #options: WallOptions
  readonly #proofs = new Map<WallKind, Promise<string | undefined>>()

  constructor(options: WallOptions) {
    this.#options = options
  }

  /**
   * Nothing stands around a command that runs without, or where there is no such sandbox. Rejects with ResourceBusy while that is not
   * known, and with CapabilityUnavailable where there is none and one is required.
   */
  async stand(kind: WallKind | undefined): Promise<StandingWall> {
    const { workspace, projectLayer, walls, requiresSandbox = false } = this.#options
    if (kind === undefined && !requiresSandbox) return NO_WALL
    const real = await fileFault('.', () => realpath(workspace))
    const bwrap = await this.#proven(kind ?? 'work', real)
    if (bwrap === undefined && requiresSandbox) throw unavailable()
    if (bwrap === undefined) walls?.ofCommands()
    if (bwrap === undefined || kind === undefined) return NO_WALL
    const args = this.#args(kind, real)
    // Around what only reads, the whole workspace cannot be written.
    const layer = kind === 'work' && projectLayer !== undefined ? await holdMountPoint(projectLayer) : undefined
    if (layer === undefined) return { argv: [bwrap, ...args, '--'], release: NO_WALL.release }
    const readOnly = layer.isEmpty ? ['--tmpfs', projectLayer!, '--remount-ro', projectLayer!] : ['--ro-bind', projectLayer!, projectLayer!]
    return { argv: [bwrap, ...args, ...readOnly, '--'], release: layer.release }
  }

  #proven(kind: WallKind, workspace: string): Promise<string | undefined> {
    const known = this.#proofs.get(kind)
    if (known !== undefined) return known
    const proof = this.#prove(kind, workspace).catch((error: unknown) => {
      if (!BulkheadError.is(error) || error.code !== 'ResourceBusy') return undefined
      this.#proofs.delete(kind)
      throw error
    })
    this.#proofs.set(kind, proof)
    return proof
  }

  async #prove(kind: WallKind, workspace: string): Promise<string | undefined> {
    const [bwrap, trial] = await Promise.all(['bwrap', 'true'].map((name) => this.#options.executables.find(name)))
    return await succeeds([bwrap!.path, ...this.#args(kind, workspace), '--', trial!.path]) ? bwrap!.path : undefined
  }

  #args(kind: WallKind, workspace: string): Argv {
    const { home } = this.#options
    const keys = home === undefined ? [] : KEYS.map((name) => join(home, name))
    const hidden = [...keys, ...DOORS, ...(kind === 'read' ? SERVANTS : [])].flatMap(placeOf)
    const isInside = ({ path }: Place): boolean => path.startsWith(join(workspace, '/'))
    return [
      '--unshare-all', ...(kind === 'work' ? ['--share-net'] : []), '--die-with-parent',
      '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ...(kind === 'work' ? ['--tmpfs', '/tmp'] : []),
      ...hidden.filter((place) => !isInside(place)).flatMap(covered),
      kind === 'work' ? '--bind' : '--ro-bind', workspace, workspace,
      // What is mounted later lies above: a workspace that is somebody's home would bring their keys back.
      ...hidden.filter(isInside).flatMap(covered),
    ]
  }
}

const unavailable = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The command was not run: sandbox.os is "require", and bubblewrap does not work here. '
    + 'Install bubblewrap and allow user namespaces, or set sandbox.os to "auto".',
  { data: { missing: ['bubblewrap'] } },
)

interface Place {
  readonly path: string
  readonly isFolder: boolean
}

/** Where something is, if it is there. Nothing can be mounted on a link. */
function placeOf(given: string): readonly Place[] {
  try {
    const path = realpathSync(given)
    return [{ path, isFolder: statSync(path).isDirectory() }]
  } catch {
    return []
  }
}

const covered = ({ path, isFolder }: Place): readonly string[] => isFolder ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
