import { lookup as resolve } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

export const systemLookup: Lookup = async (host) => (await resolve(host, { all: true })).map(({ address }) => address)

/**
 * The `lookup` of a request to a host that others name. `check` throws for an address that may not be reached; one is
 * enough to refuse the name. The connection uses the checked addresses, so a name cannot change in between.
 */
export const checkedLookup = (
  check: (address: string, host: string) => void, lookup: Lookup = systemLookup,
): LookupFunction => (host, { all }, done) => {
  lookup(host).then((addresses) => {
    for (const address of addresses) check(address, host)
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    if (found.length === 0) throw new TypeError(`The host ${host} has no address.`)
    if (all === true) done(null, found)
    else done(null, found[0]!.address, found[0]!.family)
  }).catch((error: Error) => done(error, ''))
}

/** The whole body. Rejects with `tooLarge` beyond the limit. */
export async function readBody(response: IncomingMessage, mostBytes: number, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
