import {
  encodeOrder, Grants, launcherCommand, launcherFilter, lookWall, openPrivateFolder, ownNetwork, proxyVariables,
  RELAY_SOCKET, RELAY_URL, ruleSet, type WallTrial,
} from '@bulkhead/broker'
import { join } from 'node:path'
import { BulkheadError, type JailGrant } from '@bulkhead/contract'
import { isWithin, realOf, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'
import { hardLimits } from '../os/installed-layers.ts'
import { PROCESS_LIMITS } from './bubblewrap.ts'
import { SETTINGS } from './mounts.ts'

/** What names the user and hosts of this machine. Every user may read it, and there is no way to show another one. */
const NAMES = ['/etc/passwd', '/etc/group', '/etc/hosts', '/etc/resolv.conf']
const DEVICES = { read: ['/dev/random', '/dev/urandom'], write: ['/dev/null', '/dev/zero', '/dev/full'] } as const

/** Why a server with this grant cannot be confined without bubblewrap; undefined if it can. */
export async function launcherFault({ hosts, acceptsNetwork = false }: NetworkGrant): Promise<string | undefined> {
  const wall = await lookWall()
  if (!wall.stands) return wall.reason
  const isReached = hosts.length === 0 || acceptsNetwork || await ownNetwork() !== undefined
  return isReached ? undefined : 'a server with hosts needs a network of its own'
}

const ORDER_FD = 3

export type NetworkGrant = Pick<JailGrant, 'hosts' | 'acceptsNetwork'>

export interface LaunchedServer {
  /** The program, as an absolute path, and its arguments. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly grant: JailGrant
  /** Files and folders of programs, besides those of the system. */
  readonly code: readonly string[]
  /** Paths that no grant above them includes. */
  readonly hidden: readonly string[]
  /** Paths that are never written. */
  readonly readOnly: readonly string[]
  /** The folder of the relay, for a server with hosts and a network of its own. */
  readonly relay: string | undefined
}

/**
 * How the launcher starts a server: its files are confined by Landlock, and it has no sockets unless it accepts the whole
 * network. What Landlock cannot do: files that other programs run, and the project layer, can be written in a folder
 * that the server may write.
 */
export async function launchedServer(server: LaunchedServer) {
  const { grant: { read, write, hosts }, code } = server
  const trial: WallTrial = await lookWall()
  const network = server.relay === undefined ? undefined : await ownNetwork()
  const isConnected = hosts.length > 0
  const grants = new Grants(tooMany)
  const [hidden, readOnly] = [server.hidden.flatMap(realPaths), server.readOnly.flatMap(realPaths)]
  const written = write.flatMap(realPaths)
  const kept = readOnly.filter((place) => written.some((path) => isWithin(place, path)))
  for (const path of [...[...read, ...code].flatMap(realPaths), ...kept]) {
    grants.add('run', path, hidden.filter((place) => place !== path))
  }
  for (const path of written) grants.add('write', path, [...hidden, ...readOnly].filter((place) => place !== path))
  const settings = [...SETTINGS.map((name) => `/etc/${name}`), ...NAMES].flatMap(realPaths)
  const hard = await hardLimits()
  const folder = await openPrivateFolder('')
  const order = encodeOrder({
    argv: server.argv, cwd: server.cwd ?? folder.path, env: {
      ...server.env, ...folder.variables, ...(network && proxyVariables(RELAY_URL, hosts)),
    },
    wall: {
      rules: ruleSet({
        list: grants.of('list'), read: ['/proc', ...settings, ...DEVICES.read, ...(server.relay === undefined ? [] : [server.relay])],
        run: [...SYSTEM_FOLDERS.flatMap(realPaths), ...grants.of('run')],
        write: [...grants.of('write'), folder.path, ...DEVICES.write], noLinks: true,
      }, isConnected ? { connect: 'any', bind: 'any' } : {}),
      filter: launcherFilter({
        sockets: isConnected ? 'network' : 'none', processes: true, metadata: write.length > 0,
        confinesSignals: trial.stands && trial.confinesSignals,
      }),
      limits: new Map(PROCESS_LIMITS.map(([name, most]) => [name, Math.min(most, hard.get(name) ?? Infinity)])),
    },
  }, network ? {} : { parent: process.pid })
  const command = launcherCommand(ORDER_FD)
  return {
    command: network && server.relay ? network(join(server.relay, RELAY_SOCKET), [0, 1, 2, ORDER_FD], command) : command,
    descriptors: [order], release: folder.remove,
  }
}

const realPaths = (path: string): readonly string[] => {
  const real = realOf(path)
  return real === undefined ? [] : [real]
}

const tooMany = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The server was not started: its folders have too many entries beside files that it may not see. '
    + 'Grant smaller folders, or install bubblewrap.',
)
