import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import type { buildConnector } from 'undici'
import { portOf, requireAllowedAddress, type HostAllowList } from '../hosts/url-policy.ts'

/** A connection of a relay without traffic ends after this time. */
export const IDLE_MS = 300_000

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

// Importing these takes 20 ms, and most processes connect to nothing.
const dns = () => process.getBuiltinModule('node:dns/promises')
const tls = () => process.getBuiltinModule('node:tls')

export const systemLookup: Lookup = async (host) =>
  (await dns().lookup(host, { all: true })).map(({ address }) => address)

export interface Dial {
  readonly scope: HostAllowList
  readonly lookup: Lookup
  /** CA certificates to trust instead of the system's. */
  readonly ca: string | undefined
  readonly timeoutMs: number
  /** Contains every socket from its creation until it is closed. */
  readonly sockets: Set<Socket>
}

/**
 * Opens connections for undici, safe against DNS rebinding. A name is resolved once per connection, every address is
 * checked, and the connection goes to one of these addresses; there is no second lookup. One denied address denies the
 * whole name: an honest name does not have both kinds, and an attacker would retry until the other one comes first.
 */
export function checkedConnector({ scope, lookup, ca, timeoutMs, sockets }: Dial): buildConnector.connector {
  return ({ hostname: host, ...address }, callback) => {
    const secure = address.protocol === 'https:'
    const port = portOf(address)
    // A literal address is not looked up.
    if (isIP(host) !== 0) requireAllowedAddress(host, host, port, scope)
    const options = { host, port, lookup: checkedLookup(port, scope, lookup), autoSelectFamily: true, noDelay: true }
    const socket: Socket = secure
      ? tls().connect({
        ...options, servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'],
        // The default comes from an environment variable.
        rejectUnauthorized: true, ...(ca !== undefined && { ca }),
      })
      : connectPlain(options)
    sockets.add(socket)

    let settled = false
    const settle = (error: Error | null): void => {
      if (settled) return
      settled = true
      clearTimeout(late)
      if (error === null) callback(null, socket)
      else callback(error, null)
    }
    const late = setTimeout(() => {
      const message = `Connecting to the host ${host} took longer than ${timeoutMs} ms. Try again later.`
      socket.destroy(new BulkheadError('ToolExecutionFailed', message))
    }, timeoutMs)
    // Check the address of the peer once more.
    socket.once('connect', () => {
      try {
        requireAllowedAddress(socket.remoteAddress ?? '', host, port, scope)
      } catch (error) {
        socket.destroy(BulkheadError.from(error))
      }
    })
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      if (!socket.destroyed) settle(null)
    })
    socket.on('error', settle)
    socket.once('close', () => {
      sockets.delete(socket)
      settle(new BulkheadError('ToolCancelled', `The connection to ${host} was closed.`))
    })
  }
}

/** Connects every host to one server on the loopback interface, without TLS. */
export function loopbackConnector(port: number, sockets: Set<Socket>): buildConnector.connector {
  return (_address, callback) => {
    const socket = connectPlain({ host: '127.0.0.1', port, noDelay: true })
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.once('connect', () => callback(null, socket))
    socket.once('error', (error) => callback(error, null))
  }
}

function checkedLookup(port: number, scope: HostAllowList, lookup: Lookup): LookupFunction {
  const resolveAllowed = callbackify(async (host: string): Promise<{ address: string; family: number }[]> => {
    const addresses = await lookup(host)
    if (addresses.length === 0) throw new BulkheadError('NotFound', `The host ${host} has no address. Check the name.`)
    for (const address of addresses) requireAllowedAddress(address, host, port, scope)
    return addresses.map((address) => ({ address, family: isIP(address) }))
  })
  return (host, { all }, done) => resolveAllowed(host, (error, allowed) => {
    if (error) done(error, '')
    else if (all === true) done(null, allowed)
    else done(null, allowed[0]!.address, allowed[0]!.family)
  })
}
