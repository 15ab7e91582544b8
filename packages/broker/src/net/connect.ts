import { lookup as resolve } from 'node:dns/promises'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { callbackify } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import type { buildConnector } from 'undici'
import type { HostScope } from '../hosts/host-allow-list.ts'
import { portOf, refuseAddress } from '../hosts/url-policy.ts'

/** Every address of a name, as texts. */
export type Lookup = (host: string) => Promise<readonly string[]>

export const systemLookup: Lookup = async (host) => (await resolve(host, { all: true })).map(({ address }) => address)

export interface Dial {
  readonly scope: HostScope
  readonly lookup: Lookup
  /** Certificates to trust instead of the system's. */
  readonly ca: string | undefined
  readonly timeoutMs: number
  /** Every socket is in here from its first moment until it is closed. */
  readonly sockets: Set<Socket>
}

/**
 * Opens connections for undici. A name is looked up once per connection, every address it has is judged, and the
 * connection is made to one of those very addresses; there is no second lookup whose answer could differ. One address that
 * may not be reached refuses the name altogether: no honest name has both kinds, and a rebinding one would be tried until
 * the other address comes first.
 */
export function judgedConnector({ scope, lookup, ca, timeoutMs, sockets }: Dial): buildConnector.connector {
  return ({ hostname: host, ...address }, callback) => {
    const secure = address.protocol === 'https:'
    const port = portOf(address)
    // A literal address is dialled without a lookup.
    if (isIP(host) !== 0) refuseAddress(host, host, port, scope)
    const options = { host, port, lookup: judgedLookup(port, scope, lookup), autoSelectFamily: true, noDelay: true }
    const socket: Socket = secure
      ? connectSecure({
        ...options, servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'],
        // The default is what an environment variable says.
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
      const message = `The host ${host} could not be connected to within ${timeoutMs} ms. Try again later.`
      socket.destroy(new BulkheadError('ToolExecutionFailed', message))
    }, timeoutMs)
    // What the connection really leads to is judged once more.
    socket.once('connect', () => {
      try {
        refuseAddress(socket.remoteAddress ?? '', host, port, scope)
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
      settle(new BulkheadError('ToolCancelled', `The connection to ${host} was given up.`))
    })
  }
}

function judgedLookup(port: number, scope: HostScope, lookup: Lookup): LookupFunction {
  const judge = callbackify(async (host: string): Promise<{ address: string; family: number }[]> => {
    const addresses = await lookup(host)
    if (addresses.length === 0) throw new BulkheadError('NotFound', `The host ${host} has no address. Check its name.`)
    for (const address of addresses) refuseAddress(address, host, port, scope)
    return addresses.map((address) => ({ address, family: isIP(address) }))
  })
  return (host, { all }, done) => judge(host, (error, judged) => {
    if (error) done(error, '')
    else if (all === true) done(null, judged)
    else done(null, judged[0]!.address, judged[0]!.family)
  })
}
