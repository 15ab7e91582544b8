import { isOfSystem, isWithin, realOf, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'
import { sensitivePaths } from '../process/mounts.ts'
import { Grants } from '../walls/grants.ts'
import { launcherFilter } from '../walls/filter-rules.ts'
import { ruleSet, type FileGrants } from '../walls/landlock.ts'
import type { LaunchWall } from '../walls/launcher.ts'
import type { BubblewrapOptions } from './bubblewrap-wall.ts'
import { notHidden } from './denied-places.ts'
import { ISOLATED_SETTINGS, settingsMounts } from './system-settings.ts'
import type { WallForm, WallOwn } from './wall-form.ts'
import { findPlaces, tooManyEntries } from './workspace-places.ts'

const WRITABLE_DEVICES = ['/dev/null', '/dev/zero', '/dev/full']
const READABLE_DEVICES = ['/dev/random', '/dev/urandom']

export type LauncherOptions = Pick<BubblewrapOptions, 'home' | 'folders'>

/**
 * What a command may open without bubblewrap. Rules only add, so what is hidden in a granted folder is left out, and the
 * entries beside it are granted one by one. Rejects if these are too many.
 */
export async function launcherGrants(
  form: WallForm, { home, folders: { reserved = [], storeFiles = [] } = {} }: LauncherOptions,
): Promise<Grants> {
  const { wall, isolated, visible, roots, denied = [] } = form
  const grants = new Grants(() => denied.length === 0 ? tooManyEntries(wall)
    : notHidden(denied[0]!.rule, 'without bubblewrap there are too many entries beside them to grant one by one'))
  const seen = isolated ? [] : ['/opt', ...visible.filter((path) => !isOfSystem(path))].flatMap(realPaths)
  const named = namedElsewhere(form)
  const hidden = [...sensitivePaths(home), ...reserved, ...named].flatMap(realPaths)
  const sensitive = wall === 'look' ? (await findPlaces(roots, wall)).sensitive : []
  const masked = [...sensitive, ...denied.filter(({ isHidden }) => isHidden)].map(({ path }) => path)
  // A hidden place that an operator names is seen.
  for (const path of seen.filter(isOutside(named))) {
    grants.add('run', path, hidden.filter((place) => !seen.includes(place) || named.includes(place)))
  }
  for (const root of roots) {
    grants.add(wall === 'work' ? 'write' : 'run', root, [...hidden, ...masked, ...storeFiles].filter((path) => path !== root))
  }
  return grants
}

/**
 * The wall without bubblewrap: Landlock opens what is granted, and a filter refuses what Landlock does not govern. Names
 * and sizes stay visible, and so do the command lines of other processes.
 */
export function launcherWall(
  form: WallForm, { folder, relay }: WallOwn, grants: Grants, confinesSignals: boolean,
): LaunchWall {
  const { wall, isConnected } = form
  const system = SYSTEM_FOLDERS.flatMap(realPaths)
  const settings = settingsOf(form)
  const files = {
    list: [...grants.of('list'), ...settings.of('list')],
    read: [...settings.of('read'), '/proc', ...READABLE_DEVICES, ...(relay === undefined ? [] : [relay])],
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

/** The places that rules deny outside of the workspace and the folders beside it. */
const namedElsewhere = ({ denied = [] }: WallForm): readonly string[] =>
  denied.filter(({ isElsewhere }) => isElsewhere).map(({ path }) => path)

const isOutside = (places: readonly string[]) => (path: string): boolean => !places.some((place) => isWithin(path, place))

/** Not counted: they are few, and nearly the same for every command. */
function settingsOf(form: WallForm): Grants {
  const grants = new Grants()
  const settings = form.isolated ? [] : settingsMounts()
  const secrets = settings.flatMap(({ kind, to }) => kind === 'file' || kind === 'folder' ? [to] : [])
  const named = namedElsewhere(form)
  const read = [
    ...settings.flatMap((mount) => mount.kind === 'read' ? [mount.from] : []),
    ...(form.isolated ? ISOLATED_SETTINGS.flatMap(realPaths) : []),
  ]
  for (const path of read.filter(isOutside(named))) grants.add('read', path, [...secrets, ...named])
  return grants
}
