import { hash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, IGNORE_FILE } from '@bulkhead/contract'
import { foldersBetween, pathsAt } from '@bulkhead/kit/folders'
import { isOfSystem } from '@bulkhead/kit/programs'
import type { HostFolders } from '../fs/file-scope.ts'
import { liesIn } from '../fs/paths.ts'
import { relayMount } from '../net/inner-relay.ts'
import type { Executables } from '../process/executable.ts'
import { holdMountPoint } from '../process/mount-point.ts'
import {
  coversIn, mountOptions, mountsOf, NO_PRIVILEGES, outermostMounts, sensitivePaths, systemMounts, type Cover,
  type SandboxMount,
} from '../process/mounts.ts'
import { isWorking, type Argv } from './command-environment.ts'
import { tooManyHidden, type DeniedPlace } from './denied-places.ts'
import { masksOf } from './mask.ts'
import { ISOLATED_SETTINGS, settingsMounts } from './system-settings.ts'
import { launcherFilter } from '../walls/filter-rules.ts'
import { FILTER_FD, type SandboxPrefix, type WallForm, type WallOwn } from './wall-form.ts'
import { findPlaces, tooManyEntries, type Place } from './workspace-places.ts'

/** Buses and displays, through which a command could make other programs write, start or connect. */
const SESSION_SOCKETS = ['/run/user', '/run/dbus', '/run/systemd/private', '/tmp/.X11-unix', '/tmp/.ICE-unix']
/** Each mount costs bubblewrap more than the one before: this many about a second. */
const MOST_MOUNTS = 1_000

/** No socket at all: one in the workspace could lead to a program outside. Mounts protect files already. */
const LOOK_FILTER = filtered(launcherFilter({ sockets: 'none', processes: true, metadata: true, confinesSignals: true }))

function filtered(filter: Uint8Array | undefined): { readonly filter: Uint8Array } | undefined {
  const canFilter = /^Seccomp:/m.test(readStatus())
  return filter === undefined || !canFilter ? undefined : { filter }
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1')
  } catch {
    return ''
  }
}

export interface BubblewrapOptions {
  /** The programs of the system. */
  readonly executables: Executables
  /** The home folder of the operator. */
  readonly home: string | undefined
  /** Folders that stay as they are, also if a root contains them. */
  readonly folders?: HostFolders
  /** A folder of the workspace that no command may write or create. */
  readonly projectLayer?: string | undefined
}

/**
 * The trials that succeeded. All walls of this process have the same system, so each command line is tried once. What
 * works for a root works for another one of the same file system.
 */
const succeeded = new Set<string>()

async function hasWorked(argv: Argv, roots: readonly string[]): Promise<boolean> {
  const named = argv.map((word) => {
    const at = roots.findIndex((root) => liesIn(word, root))
    return at === -1 ? word : [at, word.slice(roots[at]!.length)]
  })
  const trial = hash('sha256', JSON.stringify([named, roots.map((root) => statSync(root).dev)]))
  if (!succeeded.has(trial) && await isWorking(argv)) succeeded.add(trial)
  return succeeded.has(trial)
}

/**
 * A view of the file system of its own, by bubblewrap, where it works. That is tried once. The files to hide are looked
 * up before each command, because credentials come and go while the host runs.
 */
export class BubblewrapWall {
  readonly #options: BubblewrapOptions
  readonly #trials = new Map<string, Promise<string | undefined>>()

  constructor(options: BubblewrapOptions) {
    this.#options = options
  }

  /** Rejects with ResourceBusy during a shortage of resources. */
  async stands(form: WallForm): Promise<boolean> {
    return (form.wall !== 'look' || LOOK_FILTER !== undefined) && await this.#working(form) !== undefined
  }

  /** Contract: it stands, and what rules deny is mountable. */
  async around(form: WallForm, own: WallOwn): Promise<SandboxPrefix> {
    const bwrap = await this.#working(form)
    const { argv, release } = form.wall === 'look' ? await this.#look(form, own) : await this.#work(form, own)
    return { argv: [bwrap!, ...argv, '--'], ...(form.wall === 'look' && LOOK_FILTER), release }
  }

  async #look(form: WallForm, own: WallOwn): Promise<SandboxPrefix> {
    const { sensitive } = await findPlaces(form.roots, form.wall)
    const masks = await masksOf([...withinLimit(sensitive, form), ...deniedIn(form, true)])
    return { argv: [...this.#args(form, form.roots, own, masks), '--seccomp', String(FILTER_FD)], release: async () => undefined }
  }

  async #work(form: WallForm, own: WallOwn): Promise<SandboxPrefix> {
    const { roots } = form
    // An isolated command is one of a bundled tool, which sets repositories up.
    const { run } = form.isolated ? { run: [] } : await findPlaces(roots, form.wall)
    const protectedFolders = this.#protectedFolders(roots.slice(1))
    const files = [...this.#storeFiles(roots), ...ignoreFilesIn(roots)]
    const isHeld = ({ path }: Place): boolean => [...protectedFolders, ...files].some((place) => liesIn(path, place))
    const masks = await masksOf(deniedIn(form, true))
    const isMasked = ({ path }: Place): boolean => masks.some(({ to }) => liesIn(path, to))
    const readOnlyPlaces = [...withinLimit(run, form), ...deniedIn(form, false)]
      .filter((place) => !isHeld(place) && !isMasked(place)).map(({ path }) => path)
    // A folder above a protected place could be moved away with it, unless something is mounted there.
    const above = roots.flatMap((root) => [...protectedFolders, ...files, ...readOnlyPlaces, ...masks.map(({ to }) => to)]
      .filter((path) => liesIn(path, root)).flatMap((path) => foldersBetween(root, path)))
      .filter((folder) => existsSync(folder))
    const args = this.#args(form, [...new Set([...roots, ...above])], own, masks)
    const held = await Promise.all(protectedFolders.map(async (path) => ({ path, mount: await holdMountPoint(path) })))
    const readOnly = held.flatMap(({ path, mount }) => mount === undefined ? []
      : mount.isEmpty ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', path, path])
    return {
      argv: [...args, ...readOnly, ...[...files, ...readOnlyPlaces].flatMap((path) => ['--ro-bind-try', path, path])],
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

  /** The path of the program, if it works. */
  #working(form: WallForm): Promise<string | undefined> {
    const key = `${form.wall} ${form.isolated}`
    const known = this.#trials.get(key)
    if (known !== undefined) return known
    const trial = this.#try({ ...form, visible: [] }).catch((error: unknown) => {
      if (!BulkheadError.is(error) || error.code !== 'ResourceBusy') return undefined
      this.#trials.delete(key)
      throw error
    })
    this.#trials.set(key, trial)
    return trial
  }

  async #try(form: WallForm): Promise<string | undefined> {
    const [bwrap, trial] = await Promise.all(['bwrap', 'true'].map((name) => this.#options.executables.find(name)))
    const argv = [bwrap!.path, ...this.#args(form, form.roots), '--', trial!.path]
    return await hasWorked(argv, form.roots) ? bwrap!.path : undefined
  }

  /** `folders`: the workspace and others, and folders in them that stay where they are. */
  #args(form: WallForm, folders: readonly string[], own?: WallOwn, masks: readonly Cover[] = []): Argv {
    const { wall, isolated, visible, isConnected } = form
    const { home, folders: { reserved = [] } = {} } = this.#options
    const hidden = [...sensitivePaths(home), ...SESSION_SOCKETS]
    const granted = mountsOf(folders, wall === 'work' ? 'write' : 'read')
    const wanted = isolated ? ISOLATED_SETTINGS : ['/opt', ...visible.filter((path) => !isOfSystem(path))]
    const seen = outermostMounts(mountsOf(wanted, 'read'), hidden)
    const others: readonly SandboxMount[] = [
      { to: '/tmp', kind: 'private' }, ...systemMounts(), ...(isolated ? [] : settingsMounts()),
      ...seen, ...seen.flatMap((mount) => coversIn(mount, [...hidden, ...reserved], seen)),
    ]
    return [
      '--unshare-all', ...(isConnected ? ['--share-net'] : []), ...NO_PRIVILEGES,
      ...mountOptions([
        ...others.filter(({ to }) => !folders.some((folder) => liesIn(to, folder))),
        { to: '/dev', kind: 'devices' }, { to: '/proc', kind: 'processes' },
        ...granted, ...granted.flatMap((folder) => coversIn(folder, hidden, [])), ...masks,
        ...(own === undefined ? [] : mountsOf([own.folder.path], 'write')),
        ...(own?.relay === undefined ? [] : [relayMount(own.relay)]),
      ]),
      ...(wall === 'work' && folders.includes('/') ? [] : ['--remount-ro', '/']),
      ...Object.entries(own?.folder.variables ?? {}).flatMap(([name, value]) => ['--setenv', name, value]),
    ]
  }
}

/** Throws RuleDenied if rules deny more than can be mounted on. Behind the look wall nothing is written anyway. */
export function requireMountable({ wall, denied = [] }: WallForm): void {
  const { length } = wall === 'look' ? denied.filter(({ isHidden }) => isHidden) : denied
  if (length > MOST_MOUNTS) throw tooManyHidden(denied[0]!.rule, length)
}

const ignoreFilesIn = (roots: readonly string[]): readonly string[] =>
  roots.map((root) => join(root, IGNORE_FILE)).filter((path) => existsSync(path))

/** `isHidden`: what is not read; otherwise what is only not written. */
const deniedIn = ({ denied = [] }: WallForm, isHidden: boolean): readonly DeniedPlace[] =>
  denied.filter((place) => place.isHidden === isHidden)

function withinLimit(places: readonly Place[], { wall }: WallForm): readonly Place[] {
  if (places.length > MOST_MOUNTS) throw tooManyEntries(wall)
  return places
}

