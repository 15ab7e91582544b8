import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { succeeds } from './attempted-program.ts'
import type { Executables } from './executable.ts'
import type { Argv } from './launcher.ts'

export type WallKind = 'read' | 'work'

/** Where people keep what opens other doors. */
const KEYS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.password-store', '.mozilla',
  '.netrc', '.npmrc', '.pypirc', '.git-credentials', '.pgpass', '.bash_history', '.zsh_history',
]
/** Who may talk to it, rules the machine. */
const DOORS = ['/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']

export interface WallOptions {
  readonly workspace: string
  /** Those of the system. */
  readonly executables: Executables
  /** The home folder of whoever runs the host. */
  readonly home: string | undefined
}

/** A sandbox of the operating system around commands, where it works. Whether it does is found out once, by doing it. */
export class Wall {
  readonly #options: WallOptions
  readonly #prefixes = new Map<WallKind, Promise<Argv>>()

  constructor(options: WallOptions) {
    this.#options = options
  }

  /** What stands before a command; nothing where there is no such sandbox. Rejects with ResourceBusy while that is not known. */
  prefix(kind: WallKind): Promise<Argv> {
    const known = this.#prefixes.get(kind)
    if (known !== undefined) return known
    const proven = this.#prove(kind).catch((error: unknown): Argv => {
      if (!BulkheadError.is(error) || error.code !== 'ResourceBusy') return []
      this.#prefixes.delete(kind)
      throw error
    })
    this.#prefixes.set(kind, proven)
    return proven
  }

  async #prove(kind: WallKind): Promise<Argv> {
    const [bwrap, trial] = await Promise.all(['bwrap', 'true'].map((name) => this.#options.executables.find(name)))
    const prefix = [bwrap!.path, ...this.#args(kind), '--']
    return await succeeds([...prefix, trial!.path]) ? prefix : []
  }

  #args(kind: WallKind): Argv {
    const { workspace, home } = this.#options
    const real = realpathSync(workspace)
    const hidden = [...home === undefined ? [] : KEYS.map((name) => join(home, name)), ...DOORS].flatMap(placeOf)
    const isInside = (path: string): boolean => path.startsWith(join(real, '/'))
    return [
      '--unshare-all', ...(kind === 'work' ? ['--share-net'] : []), '--die-with-parent',
      '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ...(kind === 'work' ? ['--tmpfs', '/tmp'] : []),
      ...hidden.filter((path) => !isInside(path)).flatMap(covered),
      kind === 'work' ? '--bind' : '--ro-bind', real, real,
      // What is mounted later lies above: a workspace that is somebody's home would bring their keys back.
      ...hidden.filter(isInside).flatMap(covered),
    ]
  }
}

/** Where something is, if it is there. Nothing can be mounted on a link. */
function placeOf(path: string): readonly string[] {
  try {
    return [realpathSync(path)]
  } catch {
    return []
  }
}

const covered = (path: string): readonly string[] => statSync(path).isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
