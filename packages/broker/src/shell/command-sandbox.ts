import { existsSync, statSync } from 'node:fs'
import { chmod, lstat, mkdir, realpath, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { foldersBetween, pathsAt } from '@bulkhead/kit/folders'
import { isOfSystem, realOf } from '@bulkhead/kit/programs'
import { withFileErrors } from '../fs/file-errors.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import { liesIn } from '../fs/paths.ts'
import type { Executables } from '../process/executable.ts'
import {
  coversIn, mountOptions, mountsOf, NO_PRIVILEGES, outermostMounts, sensitivePaths, systemMounts, type Mount,
  type SandboxMount,
} from '../process/mounts.ts'
import { reaper } from '../process/reaper.ts'
import { isWorking, type Argv } from './command-environment.ts'
import { GitIdentity } from './git-identity.ts'
import { settingsMounts } from './system-settings.ts'

export type SandboxKind = 'look' | 'work'

/** Buses and displays, through which a read-only command could make other programs write, start or connect. */
const SESSION_SOCKETS = ['/run/user', '/run/dbus', '/run/systemd/private', '/tmp/.X11-unix', '/tmp/.ICE-unix']
/** The settings that an isolated command sees. */
const ISOLATED_SETTINGS = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/localtime']

/** Reports that commands run without a sandbox. */
export interface MissingSandboxReporter {
  ofCommands(): void
}

export interface CommandSandboxOptions {
  readonly workspace: string
  /** Folders beside the workspace that commands may write. Default: none. */
  readonly roots?: readonly string[]
  /** Folders that stay as they are, also if a root contains them. */
  readonly folders?: HostFolders
  /** The programs of the system. */
  readonly executables: Executables
  /** The home folder of the operator. */
  readonly home: string | undefined
  /** A folder of the workspace that no command may write or create. */
  readonly projectLayer?: string | undefined
  /** Called when a command runs without the sandbox it should have. */
  readonly missingSandbox?: MissingSandboxReporter | undefined
  /** Without a working sandbox no command runs, not even one that needs none. */
  readonly requiresSandbox?: boolean | undefined
}

/** The arguments before a command. Release it when the command is gone. */
export interface SandboxPrefix {
  readonly argv: Argv
  release(): Promise<void>
}

const NO_SANDBOX: SandboxPrefix = { argv: [], release: async () => undefined }

/**
 * Runs commands in bubblewrap, where it works. That is tried once. The files to hide are looked up before each command,
 * because credentials come and go while the host runs.
 */
export class CommandSandbox {
  readonly #options: CommandSandboxOptions
  readonly #trials = new Map<string, Promise<string | undefined>>()
  readonly #git: GitIdentity | undefined

  constructor(options: CommandSandboxOptions) {
    const { executables, home } = options
    this.#options = options
    this.#git = home === undefined ? undefined : new GitIdentity(executables, home)
  }

  /**
   * `visible`: what a command sees besides the workspace and the system, unless it is isolated. Without a kind, or
   * without a working bubblewrap, the prefix is empty. Rejects with ResourceBusy during a shortage of resources, and with
   * CapabilityUnavailable if a sandbox is required and none works.
   */
  async prepare(
    kind: SandboxKind | undefined, isolated = false, visible: readonly string[] = [],
  ): Promise<SandboxPrefix> {
    const { workspace, roots = [], missingSandbox, requiresSandbox = false } = this.#options
    if (kind === undefined && !requiresSandbox) return NO_SANDBOX
    const real = await Promise.all([workspace, ...roots].map((folder) =>
      withFileErrors(folder === workspace ? '.' : folder, () => realpath(folder))))
    const bwrap = await this.#working(kind ?? 'work', isolated, real)
    if (bwrap === undefined && requiresSandbox) throw unavailable()
    if (bwrap === undefined) missingSandbox?.ofCommands()
    if (bwrap === undefined || kind === undefined) return NO_SANDBOX
    // A read-only sandbox already covers everything.
    const protectedFolders = kind === 'work' ? this.#protectedFolders(real.slice(1)) : []
    const files = kind === 'work' ? this.#storeFiles(real) : []
    // A folder above a protected place could be moved away with it, unless something is mounted there.
    const above = real.flatMap((root) => [...protectedFolders, ...files].filter((path) => liesIn(path, root))
      .flatMap((path) => foldersBetween(root, path))).filter((folder) => existsSync(folder))
    const identity = isolated ? undefined : await this.#git?.mount()
    const args = this.#args(kind, isolated, [...new Set([...real, ...above])], visible, identity)
    const held = await Promise.all(protectedFolders.map(async (path) => ({ path, mount: await holdMountPoint(path) })))
    const readOnly = held.flatMap(({ path, mount }) => mount === undefined ? []
      : mount.isEmpty ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', path, path])
    return {
      argv: [bwrap, ...args, ...readOnly, ...files.flatMap((path) => ['--ro-bind-try', path, path]), '--'],
      release: async () => void await Promise.all(held.map(({ mount }) => mount?.release())),
    }
  }

  /** The project layer of each folder, and folders of the host in a root. */
  #protectedFolders(roots: readonly string[]): readonly string[] {
    const { projectLayer, folders: { reserved = [], layerName } = {} } = this.#options
    const ofRoots = roots.flatMap((root) => [
      ...(layerName === undefined ? [] : [join(root, layerName)]), ...reserved.filter((folder) => liesIn(folder, root)),
    ])
    return [...new Set([...(projectLayer === undefined ? [] : [projectLayer]), ...ofRoots])]
  }

  /** Those that exist now. Looked up before each command, because some come and go. */
  #storeFiles(writable: readonly string[]): readonly string[] {
    return (this.#options.folders?.storeFiles ?? []).flatMap(pathsAt)
      .filter((path) => writable.some((folder) => liesIn(path, folder)))
  }

  #working(kind: SandboxKind, isolated: boolean, writable: readonly string[]): Promise<string | undefined> {
    const form = `${kind} ${isolated}`
    const known = this.#trials.get(form)
    if (known !== undefined) return known
    const trial = this.#try(kind, isolated, writable).catch((error: unknown) => {
      if (!BulkheadError.is(error) || error.code !== 'ResourceBusy') return undefined
      this.#trials.delete(form)
      throw error
    })
    this.#trials.set(form, trial)
    return trial
  }

  async #try(kind: SandboxKind, isolated: boolean, writable: readonly string[]): Promise<string | undefined> {
    const [bwrap, trial] = await Promise.all(['bwrap', 'true'].map((name) => this.#options.executables.find(name)))
    const argv = [bwrap!.path, ...this.#args(kind, isolated, writable), '--', trial!.path]
    return await isWorking(argv) ? bwrap!.path : undefined
  }

  #args(
    kind: SandboxKind, isolated: boolean, writable: readonly string[], visible: readonly string[] = [], identity?: Mount,
  ): Argv {
    const { home, folders: { reserved = [] } = {} } = this.#options
    const hidden = [...sensitivePaths(home), ...(kind === 'look' ? SESSION_SOCKETS : [])]
    const folders = mountsOf(writable, kind === 'work' ? 'write' : 'read')
    const wanted = isolated ? ISOLATED_SETTINGS : ['/opt', ...visible.filter((path) => !isOfSystem(path))]
    const seen = outermostMounts(mountsOf(wanted, 'read'), hidden)
    const others: readonly SandboxMount[] = [
      { to: '/tmp', kind: 'private' }, ...systemMounts(),
      ...(isolated ? [] : [...privateHome(home, seen, identity), ...settingsMounts()]),
      ...seen, ...seen.flatMap((mount) => coversIn(mount, [...hidden, ...reserved], seen)),
    ]
    return [
      '--unshare-all', ...(kind === 'work' && !isolated ? ['--share-net'] : []), ...NO_PRIVILEGES,
      ...mountOptions([
        ...others.filter(({ to }) => !writable.some((folder) => liesIn(to, folder))),
        { to: '/dev', kind: 'devices' }, { to: '/proc', kind: 'processes' },
        ...folders, ...folders.flatMap((folder) => coversIn(folder, hidden, [])),
      ]),
      ...(kind === 'work' && writable.includes('/') ? [] : ['--remount-ro', '/']),
    ]
  }
}

/**
 * An empty home at the path that programs know, with the settings of git unless the real ones are `seen`. A home inside
 * the system belongs to a service.
 */
function privateHome(
  home: string | undefined, seen: readonly Mount[], identity: Mount | undefined,
): readonly SandboxMount[] {
  if (home === undefined || home === '/' || isOfSystem(home) || liesIn(home, '/etc')) return []
  const real = realOf(home)
  if (real === undefined || !statSync(real).isDirectory()) return []
  const isHidden = identity !== undefined && !seen.some(({ to }) => liesIn(identity.to, to))
  return [{ to: home, kind: 'private' }, ...(isHidden ? [identity] : [])]
}

const unavailable = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The command was not run: sandbox.os is "require", and bubblewrap does not work here. '
    + 'Install bubblewrap and allow user namespaces, or set sandbox.os to "auto".',
  { data: { missing: ['bubblewrap'] } },
)

/** This mode identifies a mount point, also for the loader and after a crash of the host. */
const NO_RIGHTS = 0o000
const USUAL_RIGHTS = 0o755

/** Mount points that this process created, with the number of commands that use them. */
const made = new Map<string, { users: number; readonly ready: Promise<boolean> }>()

/** A folder that a sandbox can mount on. */
export interface MountPoint {
  /** Whether it was created for this purpose. */
  readonly isEmpty: boolean
  /** Idempotent. The last user removes a created folder, unless it is no longer empty. */
  release(): Promise<void>
}

/**
 * bubblewrap can only mount on existing paths. A missing folder is created while commands run, so that no command can
 * create it. Contract: undefined for a path that cannot be mounted on, such as a link.
 */
export async function holdMountPoint(path: string): Promise<MountPoint | undefined> {
  const known = made.get(path)
  const entry = known ?? { users: 0, ready: makeEmpty(path) }
  entry.users++
  if (known === undefined) made.set(path, entry)
  if (!await entry.ready) {
    if (made.get(path) === entry) made.delete(path)
    const found = await lstat(path).catch(() => undefined)
    const isMountable = found !== undefined && !found.isSymbolicLink()
    return isMountable ? { isEmpty: false, release: async () => undefined } : undefined
  }
  let held = true
  const forget = reaper.hold('empty', path)
  return {
    isEmpty: true,
    async release() {
      if (!held) return
      held = false
      forget()
      if (--entry.users > 0) return
      made.delete(path)
      await rmdir(path).catch(() => chmod(path, USUAL_RIGHTS)).catch(() => undefined)
    },
  }
}

/** Whether the mount point exists now, created by this host or an earlier one. */
async function makeEmpty(path: string): Promise<boolean> {
  try {
    await mkdir(path, NO_RIGHTS)
    return true
  } catch {
    const found = await lstat(path).catch(() => undefined)
    return found !== undefined && found.isDirectory() && (found.mode & 0o777) === NO_RIGHTS
  }
}
