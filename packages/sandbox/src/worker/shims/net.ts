import { EventEmitter } from 'node:events'
import { shimModule, type ShimHost } from './host.ts'

const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/

/** 4, 6 or 0, by the parser of URLs. */
function isIP(given: unknown): 0 | 4 | 6 {
  const text = String(given)
  if (V4.test(text)) return 4
  return /^[\da-f:.]+(?:%.+)?$/i.test(text) && URL.canParse(`http://[${text.replace(/%.*$/, '')}]`) ? 6 : 0
}

const OTHERS: Readonly<Record<string, readonly string[]>> = {
  net: [
    'BlockList', 'Server', 'Socket', 'SocketAddress', 'Stream', 'connect', 'createConnection', 'createServer',
    'getDefaultAutoSelectFamily', 'getDefaultAutoSelectFamilyAttemptTimeout', 'setDefaultAutoSelectFamily',
    'setDefaultAutoSelectFamilyAttemptTimeout',
  ],
  tls: [
    'SecureContext', 'Server', 'checkServerIdentity', 'connect', 'createSecureContext', 'createServer',
    'getCACertificates', 'getCiphers', 'setDefaultCACertificates',
  ],
  dns: [
    'Resolver', 'getServers', 'lookup', 'lookupService', 'resolve', 'resolve4', 'resolve6', 'resolveAny',
    'resolveCname', 'resolveMx', 'resolveNs', 'resolveSrv', 'resolveTxt', 'reverse', 'setServers',
    'setDefaultResultOrder',
  ],
  http2: [
    'Http2ServerRequest', 'Http2ServerResponse', 'connect', 'createSecureServer', 'createServer', 'getDefaultSettings',
  ],
}

/** Connects to nothing. Libraries that look inside one when they load find a class there. */
class TLSSocket extends EventEmitter {
  readonly _handle = { _parentWrap: new EventEmitter() }
  readonly destroyed = true

  destroy(): this {
    return this
  }
}

/** What libraries name of sockets. There are none: the host makes each connection, for `fetch` and `node:http`. */
export function socketModules(host: ShimHost): Readonly<Record<string, () => object>> {
  const instead = 'There are no raw sockets: use `fetch`, node:http, or a library over HTTP.'
  const part = (name: string, members: Readonly<Record<string, unknown>>): object =>
    shimModule(host, name, members, OTHERS[name.replace('/promises', '')]!, instead)
  const lookups = { ADDRCONFIG: 1024, ALL: 256, V4MAPPED: 2048, NODATA: 'ENODATA', NOTFOUND: 'ENOTFOUND' }
  return {
    net: () => part('net', {
      isIP, isIPv4: (given: unknown) => isIP(given) === 4, isIPv6: (given: unknown) => isIP(given) === 6,
    }),
    tls: () => part('tls', {
      TLSSocket,
      DEFAULT_MAX_VERSION: 'TLSv1.3', DEFAULT_MIN_VERSION: 'TLSv1.2', DEFAULT_CIPHERS: '',
      rootCertificates: Object.freeze([]),
    }),
    dns: () => part('dns', { ...lookups, promises: part('dns/promises', lookups) }),
    'dns/promises': () => part('dns/promises', lookups),
    http2: () => part('http2', { constants: Object.freeze(HTTP2), sensitiveHeaders: Symbol('sensitiveHeaders') }),
  }
}

const HTTP2 = {
  HTTP2_HEADER_AUTHORITY: ':authority', HTTP2_HEADER_METHOD: ':method', HTTP2_HEADER_PATH: ':path',
  HTTP2_HEADER_SCHEME: ':scheme', HTTP2_HEADER_STATUS: ':status', HTTP2_METHOD_CONNECT: 'CONNECT',
  HTTP2_METHOD_GET: 'GET', HTTP2_METHOD_HEAD: 'HEAD', HTTP2_METHOD_DELETE: 'DELETE',
  HTTP2_HEADER_CONTENT_LENGTH: 'content-length', HTTP2_HEADER_EXPECT: 'expect', NGHTTP2_CANCEL: 8,
}
