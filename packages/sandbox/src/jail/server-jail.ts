import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import {
  holdMountPoint, inheritableDescriptors, isInheritable, openRelay, sensitivePaths, type RelayOptions,
} from '@bulkhead/broker'
import { BulkheadError, type JailedStart, type ServerJail, type ServerStart } from '@bulkhead/contract'
import { pathsAt } from '@bulkhead/kit/folders'
import { codeOfCommand, findProgram, includesPath, isOfSystem, isWithin } from '@bulkhead/kit/programs'
import {
  FIRST_DESCRIPTOR, findMeans, jailCommand, jailData, PRIVATE_FOLDERS, TREE_LIMITS, type JailMeans,
} from './bubblewrap.ts'
import { besideRelay, RELAY_INSIDE, relayArgs, relayCode } from './inner-relay.ts'
import { grantArgs, JAIL_HOME } from './mounts.ts'
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

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin']
const CURE = 'Install bubblewrap and util-linux and allow user namespaces, or set "jail": false in the entry of the '
  + 'server to run it with all rights of your account.'
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

/** Local servers in bubblewrap: the same walls as around compartments, with room for programs of any kind. */
export function createServerJail(options: ServerJailOptions): ServerJail {
  const { kept, ownCode, projectLayer, storeFiles = [], home, lookup, folders = FOLDERS, limits } = options
  const hidden = [...kept, ...sensitivePaths(home)]
  let inheritable: readonly number[] | undefined

  /** The data of the jail, and /dev/null in place of each descriptor that the server would inherit. */
  const descriptorsOf = (data: readonly Uint8Array[]): JailedStart['descriptors'] => {
    inheritable = (inheritable ?? inheritableDescriptors()).filter(isInheritable)
    const count = Math.max(data.length, ...inheritable.map((at) => at - FIRST_DESCRIPTOR + 1))
    return Array.from({ length: count }, (_, at) => data[at] ?? null)
  }

  return {
    async prepare(start, report, onKeyUse) {
      const means = await meansIn(folders)
      if (typeof means === 'string') {
        throw new BulkheadError('CapabilityUnavailable', `Local servers run in a jail, but ${means}. ${CURE}`)
      }
      const { command: [name = '', ...args], cwd, env, grant: { read, write, hosts } } = start
      const path = env['PATH'] ?? ''
      const program = findProgram(name, cwd, path)
      if (program === undefined) throw Object.assign(new Error(`spawn ${name} ENOENT`), { code: 'ENOENT' })
      const isConnected = hosts.length > 0
      const code = [...codeOfCommand(program, args, cwd, path), ...(isConnected ? relayCode() : [])]
      const descriptors = descriptorsOf(jailData(means))
      // The layer must exist to be mounted on: a server could create it otherwise.
      const layer = includesPath(write, projectLayer) ? await holdMountPoint(projectLayer) : undefined
      try {
        const readOnly = [...ownCode, projectLayer, ...storeFiles.flatMap(pathsAt)]
        const mounts = grantArgs({ grant: start.grant, code, hidden, readOnly })
        const relay = isConnected
          ? await openRelay({
            hosts, keys: start.keys ?? [], onRefused: report, ...(onKeyUse && { onKeyUse }), ...(lookup && { lookup }),
          })
          : undefined
        const command = relay === undefined ? [program, ...args] : besideRelay([program, ...args], hosts)
        const folder = includesPath([...read, ...write], cwd) ? cwd : JAIL_HOME
        let stopWatching: (() => void) | undefined
        return {
          command: jailCommand(means, [...mounts, ...(relay ? relayArgs(relay.folder) : [])], folder, command),
          cwd: '/',
          env: { ...jailEnv(env, [...code, ...read, ...write]), ...relay?.variables(RELAY_INSIDE) },
          descriptors,
          watch(pid, ended) {
            lowerPriority(pid)
            stopWatching = watchTree(pid, { ...TREE_LIMITS, ...limits }, PRIVATE_FOLDERS, (what) => {
              ended(`the jail ended it: it used ${what}`)
              killGroup(pid)
            })
          },
          async release() {
            stopWatching?.()
            await Promise.all([layer?.release(), relay?.close()])
          },
        }
      } catch (error) {
        await layer?.release()
        throw error
      }
    },
    async findFault() {
      const means = await meansIn(folders)
      return typeof means === 'string' ? means : undefined
    },
  }
}

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
