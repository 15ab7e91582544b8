const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:]+)(?::(\d+))?$/
const DEFAULT_PORTS: ReadonlySet<number> = new Set([80, 443])
const IPV4 = /^\d+(?:\.\d+){3}$/

/**
 * `*` covers every name; `*.example.com` covers every subdomain but not example.com; neither covers an IP address. A
 * pattern without a port covers the ports of http and https. An invalid pattern neither covers nor is covered.
 */
export interface HostPattern {
  /** An IPv6 address is in brackets. */
  readonly host: string
  readonly port: number | undefined
}

/** undefined for an invalid pattern. */
export function readHostPattern(pattern: string): HostPattern | undefined {
  const [, host, port] = HOST_AND_PORT.exec(pattern) ?? []
  return host === undefined ? undefined : { host, port: port === undefined ? undefined : Number(port) }
}

export function hostCovers(wide: string, narrow: string): boolean {
  const [one, other] = [readHostPattern(wide), readHostPattern(narrow)]
  return one !== undefined && other !== undefined && coversPort(one, other.port) && coversName(one, other.host)
}

/** Whether some host could match both. Conservative: true may be wrong, false never is. */
export function hostsOverlap(a: string, b: string): boolean {
  const [one, other] = [readHostPattern(a), readHostPattern(b)]
  if (one === undefined || other === undefined) return false
  if (!coversPort(one, other.port) && !coversPort(other, one.port)) return false
  return coversName(one, other.host) || coversName(other, one.host)
}

export const hostMatches = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => hostCovers(pattern, host))

export const coversPort = ({ port }: HostPattern, narrow: number | undefined): boolean =>
  port === narrow || (port === undefined && narrow !== undefined && DEFAULT_PORTS.has(narrow))

/** Compares addresses by their spelling. */
export function coversName({ host }: HostPattern, narrow: string): boolean {
  if (host === narrow) return true
  if (IPV4.test(narrow) || narrow.startsWith('[')) return false
  if (host === '*') return true
  return host.startsWith('*.') && narrow.endsWith(host.slice(1)) && narrow.length > host.length - 1
}

/**
 * Whether a URL has a loopback name or address, so that unencrypted traffic stays on this machine. Resolves no names.
 */
export const isThisMachine = ({ hostname }: Pick<URL, 'hostname'>): boolean => LOOPBACK.test(hostname)
