import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readHostPattern } from '@bulkhead/kit/hosts'
import { isOfSystem } from '@bulkhead/kit/programs'
import type { Mount } from '../process/mounts.ts'
import { PASS_CONNECTIONS } from '../walls/relay-script.ts'
import { RELAY_SOCKET } from './relay.ts'

/** Where the folder of the relay is inside the wall. */
export const RELAY_INSIDE = '/run/bulkhead'

/**
 * Runs inside the wall, as the parent of the server or command. It passes connections from a port of the loopback
 * interface to the socket of the host's relay, which decides. Its power is that of its child: it need not be trusted.
 */
const SCRIPT = `
const [path, direct, kept, program, ...args] = process.argv.slice(1)
${PASS_CONNECTIONS}
server.listen(0, '127.0.0.1', () => {
  const proxy = 'http://127.0.0.1:' + server.address().port
  run({
    ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy,
    https_proxy: proxy, ALL_PROXY: proxy, all_proxy: proxy, NO_PROXY: direct, no_proxy: direct,
  })
})`

const node = realpathSync(process.execPath)

const LOOPBACK = ['localhost', '127.0.0.1', '::1']

/** The command that runs another one, with these descriptors, beside the relay. */
export const besideRelay = (
  command: readonly string[], hosts: readonly string[], descriptors: readonly number[] = [0, 1, 2],
): readonly string[] => [
  node, '--no-warnings', '--eval', SCRIPT, '--', join(RELAY_INSIDE, RELAY_SOCKET), directHosts(hosts),
  descriptors.join(), ...command,
]

/** What is reached without the proxy. Without a grant, loopback is the program's own. */
function directHosts(hosts: readonly string[]): string {
  const isLocal = hosts.some((host) => LOOPBACK.includes(readHostPattern(host)?.host.replaceAll(/[[\]]/g, '') ?? ''))
  return isLocal ? '' : LOOPBACK.join(',')
}

/** The variables by which programs find a proxy. */
export function proxyVariables(proxy: string, hosts: readonly string[]): Readonly<Record<string, string>> {
  const direct = directHosts(hosts)
  return {
    NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy,
    ALL_PROXY: proxy, all_proxy: proxy, NO_PROXY: direct, no_proxy: direct,
  }
}

/** Node, with its libraries. */
export const relayCode = (): readonly string[] =>
  [node, join(dirname(dirname(node)), 'lib')].filter((path) => existsSync(path) && !isOfSystem(path))

/** The folder of the host's relay, where the command beside it looks for it. */
export const relayMount = (folder: string): Mount => ({ from: folder, to: RELAY_INSIDE, kind: 'read' })
