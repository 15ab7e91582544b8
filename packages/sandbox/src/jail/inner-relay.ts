import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RELAY_SOCKET } from '@bulkhead/broker'
import { readHostPattern } from '@bulkhead/kit/hosts'
import { isOfSystem } from '@bulkhead/kit/programs'

/** Where the folder of the relay is inside the jail. */
export const RELAY_INSIDE = '/run/bulkhead'

/**
 * Runs inside the jail, as the parent of the server. It passes connections from a port of the loopback interface to the
 * socket of the host's relay, which decides. Its power is that of the server: it need not be trusted.
 */
const SCRIPT = `
const { connect, createServer } = require('node:net')
const { spawn } = require('node:child_process')
const [path, direct, program, ...args] = process.argv.slice(1)
const server = createServer({ allowHalfOpen: true }, (client) => {
  const relay = connect({ path, allowHalfOpen: true })
  client.on('error', () => relay.destroy()).pipe(relay)
  relay.on('error', () => client.destroy()).pipe(client)
})
server.listen(0, '127.0.0.1', () => {
  const proxy = 'http://127.0.0.1:' + server.address().port
  const env = {
    ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy,
    https_proxy: proxy, ALL_PROXY: proxy, all_proxy: proxy, NO_PROXY: direct, no_proxy: direct,
  }
  const child = spawn(program, args, { stdio: 'inherit', env })
  child.on('error', ({ message }) => { console.error(message); process.exit(127) })
  child.on('exit', (code) => process.exit(code ?? 1))
})`

const node = realpathSync(process.execPath)

const LOOPBACK = ['localhost', '127.0.0.1', '::1']

/** The command that runs another one beside the relay. Without a grant, loopback is the server's own: no proxy. */
export function besideRelay(command: readonly string[], hosts: readonly string[]): readonly string[] {
  const isLocal = hosts.some((host) => LOOPBACK.includes(readHostPattern(host)?.host.replaceAll(/[[\]]/g, '') ?? ''))
  const direct = isLocal ? '' : LOOPBACK.join(',')
  return [node, '--no-warnings', '--eval', SCRIPT, '--', join(RELAY_INSIDE, RELAY_SOCKET), direct, ...command]
}

/** Node, with its libraries. */
export const relayCode = (): readonly string[] =>
  [node, join(dirname(dirname(node)), 'lib')].filter((path) => existsSync(path) && !isOfSystem(path))

/** The folder of the host's relay, as arguments of `bwrap`. */
export const relayArgs = (folder: string): readonly string[] => ['--ro-bind', folder, RELAY_INSIDE]
