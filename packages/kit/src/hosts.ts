const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:]+)(?::(\d+))?$/
const DEFAULT_PORTS: ReadonlySet<string> = new Set(['80', '443'])
const IPV4 = /^\d+(?:\.\d+){3}$/

interface HostPattern {
  readonly host: string
  readonly port: string | undefined
}

/**
 * `*` covers every name; `*.example.com` covers every subdomain but not example.com; neither covers an IP address. A
 * pattern without a port covers the ports of http and https. An invalid pattern neither covers nor is covered.
 */
export function hostCovers(wide: string, narrow: string): boolean {
  const [one, other] = [read(wide), read(narrow)]
  return one !== undefined && other !== undefined && portCovers(one.port, other.port) && nameCovers(one.host, other.host)
}

/** Whether some host could match both. Conservative: true may be wrong, false never is. */
export function hostsOverlap(a: string, b: string): boolean {
  const [one, other] = [read(a), read(b)]
  if (one === undefined || other === undefined) return false
  if (!portCovers(one.port, other.port) && !portCovers(other.port, one.port)) return false
  return nameCovers(one.host, other.host) || nameCovers(other.host, one.host)
}

export const hostMatches = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => hostCovers(pattern, host))

function read(pattern: string): HostPattern | undefined {
  const [, host, port] = HOST_AND_PORT.exec(pattern) ?? []
  return host === undefined ? undefined : { host, port }
}

const portCovers = (wide: string | undefined, narrow: string | undefined): boolean =>
  wide === narrow || (wide === undefined && narrow !== undefined && DEFAULT_PORTS.has(narrow))

function nameCovers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  if (IPV4.test(narrow) || narrow.startsWith('[')) return false
  if (wide === '*') return true
  return wide.startsWith('*.') && narrow.endsWith(wide.slice(1)) && narrow.length > wide.length - 1
}

/**
 * Whether a URL has a loopback name or address, so that unencrypted traffic stays on this machine. Resolves no names.
 */
export const isThisMachine = ({ hostname }: Pick<URL, 'hostname'>): boolean => LOOPBACK.test(hostname)
