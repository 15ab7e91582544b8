import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isOfSystem, realOf, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'
import { liesIn } from '../fs/paths.ts'
import { sensitivePaths } from '../process/mounts.ts'
import { launcherFilter } from '../walls/filter-rules.ts'
import { ruleSet, type FileGrants } from '../walls/landlock.ts'
import type { LaunchWall } from '../walls/launcher.ts'
import type { BubblewrapOptions } from './bubblewrap-wall.ts'
import { ISOLATED_SETTINGS, settingsMounts } from './system-settings.ts'
import type { WallForm, WallOwn } from './wall-form.ts'
import { findPlaces, tooManyEntries } from './workspace-places.ts'

/** Grants that one command takes, if files beside them are left out. */
const MOST_GRANTS = 4_096
const WRITABLE_DEVICES = ['/dev/null', '/dev/zero', '/dev/full']
const READABLE_DEVICES = ['/dev/random', '/dev/urandom']

export type LauncherOptions = Pick<BubblewrapOptions, 'home' | 'folders'>

/**
 * The wall without bubblewrap: Landlock opens what is granted, and a filter refuses what Landlock does not govern. Rules
 * only add, so what is hidden in a granted folder is left out, and the entries beside it are granted one by one. Names
 * and sizes stay visible, and so do the command lines of other processes.
 */
export async function launcherWall(
  form: WallForm, { folder }: WallOwn, { home, folders: { reserved = [], storeFiles = [] } = {} }: LauncherOptions,
  confinesSignals: boolean,
): Promise<LaunchWall> {
  const { wall, isolated, visible, roots, isConnected } = form
  const grants = new Grants(wall)
  const system = SYSTEM_FOLDERS.flatMap(realPaths)
  const seen = isolated ? [] : ['/opt', ...visible.filter((path) => !isOfSystem(path))].flatMap(realPaths)
  const hidden = [...sensitivePaths(home), ...reserved].flatMap(realPaths)
  const masked = wall === 'look' ? (await findPlaces(roots, wall)).sensitive.map(({ path }) => path) : []
  // A hidden place that an operator names is seen.
  for (const path of seen) grants.add('run', path, hidden.filter((place) => !seen.includes(place)))
  for (const root of roots) {
    grants.add(wall === 'work' ? 'write' : 'run', root, [...hidden, ...masked, ...storeFiles].filter((path) => path !== root))
  }
  const settings = settingsOf(isolated)
  const files = {
    list: [...grants.of('list'), ...settings.of('list')],
    read: [...settings.of('read'), '/proc', ...READABLE_DEVICES],
    run: [...grants.of('run'), ...system], write: [...grants.of('write'), folder.path, ...WRITABLE_DEVICES], noLinks: true,
  } satisfies FileGrants
  return {
    rules: ruleSet(files, isConnected ? { connect: 'any', bind: 'any' } : {}),
    filter: launcherFilter({
      sockets: isConnected ? 'network' : 'none', processes: true, metadata: wall === 'work', confinesSignals,
    }),
  }
}

const realPaths = (path: string): readonly string[] => {
  const real = realOf(path)
  return real === undefined ? [] : [real]
}

/** Not counted: they are few, and the same for every command. */
function settingsOf(isolated: boolean): Grants {
  const grants = new Grants('look')
  const settings = isolated ? [] : settingsMounts()
  const secrets = settings.flatMap(({ kind, to }) => kind === 'file' || kind === 'folder' ? [to] : [])
  for (const mount of settings) if (mount.kind === 'read') grants.add('read', mount.from, secrets)
  for (const path of isolated ? ISOLATED_SETTINGS.flatMap(realPaths) : []) grants.add('read', path, [])
  return grants
}

type Level = 'list' | 'read' | 'run' | 'write'

class Grants {
  readonly #wall: WallForm['wall']
  readonly #paths = new Map<Level, string[]>()
  #left = MOST_GRANTS

  constructor(wall: WallForm['wall']) {
    this.#wall = wall
  }

  of(level: Level): readonly string[] {
    return this.#paths.get(level) ?? []
  }

  /** All of a file or folder except these places. */
  add(level: Level, path: string, except: readonly string[]): void {
    const inside = except.filter((place) => liesIn(place, path))
    if (inside.includes(path)) return
    if (inside.length === 0) return this.#push(level, path)
    this.#push('list', path)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      // Where a link leads to is granted by its own name, or not at all.
      if (entry.isDirectory() || entry.isFile()) this.add(level, join(path, entry.name), inside)
    }
  }

  #push(level: Level, path: string): void {
    if (this.#left-- <= 0) throw tooManyEntries(this.#wall)
    this.#paths.getOrInsertComputed(level, () => []).push(path)
  }
}
