import type { IncomingMessage } from 'node:http'

/** They concern one connection, not the request. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
  'transfer-encoding', 'upgrade', 'host',
])

/** The headers that a relay passes on, by lower-case name. */
export const passedHeaders = ({ headersDistinct }: IncomingMessage): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headersDistinct)
    .filter(([name, values]) => !HOP_BY_HOP.has(name) && values !== undefined)) as Record<string, string[]>
