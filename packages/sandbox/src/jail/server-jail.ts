import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import {
  besideRelay, findPlaces, holdMountPoint, inheritableDescriptors, isInheritable, mountOptions, openRelay, ownNetwork,
  RELAY_INSIDE, relayCode, relayMount, sensitivePaths, type Relay, type RelayOptions,
} from '@bulkhead/broker'
import { BulkheadError, type JailedStart, type ServerJail, type ServerStart } from '@bulkhead/contract'
import { pathsAt } from '@bulkhead/kit/folders'
import { codeOfCommand, findProgram, includesPath, isOfSystem, isWithin, PROGRAM_FOLDERS, realOf } from '@bulkhead/kit/programs'
import {
  FIRST_DESCRIPTOR, findMeans, jailCommand, jailData, PRIVATE_FOLDERS, TREE_LIMITS, type JailMeans,
} from './bubblewrap.ts'
import { ruledGrant } from './denied-grants.ts'
import { launchedServer, launcherFault, type NetworkGrant } from './launcher-jail.ts'
import { grantArgs, JAIL_HOME } from './mounts.ts'
import type { JailState } from '../os/walls.ts'
import { watchTree, type TreeLimits } from './watch-tree.ts'

export interface ServerJailOptions {
  /** Folders of the host, canonical: hidden from servers. */
  readonly kept: readonly string[]
  /** Folders with the host's code, canonical: no server writes there. */
  readonly ownCode: readonly string[]
  /** The folder of the project layer, canonical, even if missing: no server writes there. */
  readonly projectLayer: string
  /** The files of the store, canonical, as `ProtectedPlaces` takes them: no server writes them. */
  readonly storeFiles?: readonly string[]
  /** The home folder of the operator. */
  readonly home: string | undefined
  /** Resolves the names of hosts that servers reach. Default: the resolver of the system. */
  readonly lookup?: RelayOptions['lookup']
  /** Where the programs that make the jail are. Default: the folders of the system. */
  readonly folders?: readonly string[]
  /** What all processes of one server may use together. Default: TREE_LIMITS. */
  readonly limits?: Partial<TreeLimits>
}

const CURE = 'Install bubblewrap and util-linux and allow user namespaces, set "jail": "files" in the entry of the server '
  + 'to leave its network open, or "jail": false to run it with all rights of your account.'
/** A busy server takes its turn after the host. */
const NICE = 10

/** By the folders that were searched. Tried once per process; a failure is tried again. */
const tried = new Map<string, Promise<JailMeans | string>>()

function meansIn(folders: readonly string[]): Promise<JailMeans | string> {
  const key = folders.join(':')
  const known = tried.get(key)
  if (known !== undefined) return known
  const trial = findMeans(folders)
  tried.set(key, trial)
  trial.catch(() => tried.delete(key))
  return trial
}

/** What stands around local servers on this machine. */
export async function jailState(folders: readonly string[] = PROGRAM_FOLDERS): Promise<JailState> {
  const means = await meansIn(folders)
  return typeof means === 'string' ? { bubblewrap: means, landlock: await launcherFault({ hosts: [] }) } : {}
}

/** Why bubblewrap does not work, and what is missing without it; undefined if the launcher's wall is enough. */
async function withoutMounts(grant: NetworkGrant, why: string): Promise<string | undefined> {
  const fault = await launcherFault(grant)
  return fault && `${why}, and without it ${fault}`
}

/** Local servers in bubblewrap: the same walls as around compartments, with room for programs of any kind. */
export function createServerJail(options: ServerJailOptions): ServerJail {
  const { kept, ownCode, projectLayer, storeFiles = [], home, lookup, folders = PROGRAM_FOLDERS, limits } = options
  const ownHidden = [...kept, ...sensitivePaths(home)]
  let inheritable: readonly number[] | undefined

  /** The data of the jail, and /dev/null in place of each descriptor that the server would inherit. */
  const descriptorsOf = (data: readonly Uint8Array[]): JailedStart['descriptors'] => {
    inheritable = (inheritable ?? inheritableDescriptors()).filter(isInheritable)
    const count = Math.max(data.length, ...inheritable.map((at) => at - FIRST_DESCRIPTOR + 1))
    return Array.from({ length: count }, (_, at) => data[at] ?? null)
  }

  /** `inMemory`: folders in memory that only the server sees. */
  const watched = (release: () => Promise<void>, inMemory: readonly string[]): Pick<JailedStart, 'watch' | 'release'> => {
    let stopWatching: (() => void) | undefined
    return {
      watch(pid, ended) {
        lowerPriority(pid)
        stopWatching = watchTree(pid, { ...TREE_LIMITS, ...limits }, inMemory, (what) => {
          ended(`the jail ended it: it used ${what}`)
          killGroup(pid)
        })
      },
      async release() {
        stopWatching?.()
        await release()
      },
    }
  }

  return {
    async prepare(start, report, onKeyUse) {
      const means = await meansIn(folders)
      const fault = typeof means === 'string' ? await withoutMounts(start.grant, means) : undefined
      if (fault !== undefined) {
        throw new BulkheadError('CapabilityUnavailable', `Local servers run in a jail, but ${fault}. ${CURE}`)
      }
      const ruled = await ruledGrant(start, typeof means !== 'string')
      const { command: [name = '', ...args], cwd, env, keys = [] } = start
      const { grant, grant: { read, write, hosts } } = ruled
      const hidden = [...ownHidden, ...ruled.hidden]
      const path = env['PATH'] ?? ''
      const program = findProgram(name, cwd, path)
      if (program === undefined) throw Object.assign(new Error(`spawn ${name} ENOENT`), { code: 'ENOENT' })
      const isConnected = hosts.length > 0
      const onRefused = (host: string): void => report(
        `The jail refused a connection to ${host}: it is not in requires.net.hosts, or not a public address.`,
      )
      const relayOptions: RelayOptions = {
        hosts, keys, onRefused, onKeyFault: report, ...(onKeyUse && { onKeyUse }), ...(lookup && { lookup }),
      }
      const ownFiles = codeOfCommand(program, args, cwd, path)
      if (typeof means === 'string') {
        const isCwd = includesPath([...read, ...write], cwd)
        const isRelayed = isConnected && await ownNetwork() !== undefined
        if (keys.length > 0 && !isRelayed) throw keysUnavailable()
        const relay = isRelayed ? await openRelay(relayOptions) : undefined
        try {
          const launched = await launchedServer({
            argv: [program, ...args], cwd: isCwd ? cwd : undefined,
            env: { ...jailEnv(env, [...ownFiles, ...read, ...write]), ...relay?.variables(relay.folder) },
            grant, code: ownFiles, hidden, readOnly: [...ownCode, ...storeFiles.flatMap(pathsAt), ...ruled.readOnly],
            relay: relay?.folder,
          })
          const release = async (): Promise<void> => void await Promise.all([launched.release(), relay?.close()])
          return { ...launched, cwd: '/', env: {}, ...watched(release, []) }
        } catch (error) {
          await relay?.close()
          throw error
        }
      }
      const code = [...ownFiles, ...(isConnected ? relayCode() : [])]
      const descriptors = descriptorsOf(jailData(means))
      // The layer must exist to be mounted on: a server could create it otherwise.
      const layer = includesPath(write, projectLayer) ? await holdMountPoint(projectLayer) : undefined
      let relay: Relay | undefined
      const release = async (): Promise<void> => void await Promise.all([layer?.release(), relay?.close()])
      try {
        const readOnly = [...ownCode, projectLayer, ...storeFiles.flatMap(pathsAt), ...ruled.readOnly]
        const { run } = await findPlaces(write.flatMap((folder) => realOf(folder) ?? []), 'work')
        const mounts = grantArgs({ grant, code, hidden, readOnly, run: run.map((place) => place.path) })
        if (isConnected) relay = await openRelay(relayOptions)
        const command = relay === undefined ? [program, ...args] : besideRelay([program, ...args], hosts)
        const folder = includesPath([...read, ...write], cwd) ? cwd : JAIL_HOME
        return {
          command: jailCommand(means, [...mounts, ...mountOptions(relay ? [relayMount(relay.folder)] : [])], folder, command),
          cwd: '/',
          env: { ...jailEnv(env, [...code, ...read, ...write]), ...relay?.variables(RELAY_INSIDE) },
          descriptors,
          ...watched(release, PRIVATE_FOLDERS),
        }
      } catch (error) {
        await release()
        throw error
      }
    },
    async findFault(grant) {
      const means = await meansIn(folders)
      return typeof means === 'string' ? withoutMounts(grant, means) : undefined
    },
  }
}

const keysUnavailable = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The server was not started: its keys stay out of it only where it has a network of its own. Install bubblewrap, or '
    + 'pass the variables in "env" instead of "keys".',
)

/** Variables that name folders or the account of the user. */
const REPLACED = /^(?:HOME|USER|LOGNAME|TMPDIR|XDG_[A-Z]+_HOME)$/
const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin']

function jailEnv(env: ServerStart['env'], seen: readonly string[]): ServerStart['env'] {
  const path = (env['PATH'] ?? '').split(':').filter((folder) =>
    isOfSystem(folder) || seen.some((place) => isWithin(folder, place) || dirname(place) === folder))
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !REPLACED.test(name))),
    PATH: [...new Set([...path, ...SYSTEM_PATH])].join(':'),
    HOME: JAIL_HOME, USER: 'server', LOGNAME: 'server', TMPDIR: '/tmp',
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICE)
  } catch {
    // It has already ended.
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
