import type { AddressKind } from './address-policy.ts'
import { addressKind, canonicalAddress } from './address-policy.ts'

/** A pattern without a port means the ports of http and https. */
const DEFAULT_PORTS: ReadonlySet<number> = new Set([80, 443])
/** Nobody answers there under that name; 0.0.0.0 is this machine in disguise. */
const NEVER: ReadonlySet<AddressKind> = new Set(['unspecified', 'multicast', 'broadcast', 'unreadable'])
const PATTERN = /^(\*\.)?(\*|\[[0-9a-f:.]+\]|[^:[\]*]+)(?::(\d{1,5}))?$/

/** Every name whose addresses are public. */
const EVERY_NAME = '*'

interface HostPattern {
  readonly below: boolean
  readonly host: string
  /** Set when the host is an address. */
  readonly address: string | undefined
  readonly port: number | undefined
}

/**
 * The hosts of a grant, asked twice: whether a name may be reached at all, and whether an address it has may. A name never
 * vouches for an address that is not public, because whoever owns the name decides what it resolves to. Such an
 * address must be in the grant itself, beside the name or alone; the one exception is `localhost`, which means loopback.
 */
export class HostScope {
  /** Of the grant, and of each of its ceilings: a host must be in all of them. */
  readonly #layers: readonly (readonly HostPattern[])[]

  /** A pattern that cannot be read covers nothing. */
  constructor(hosts: readonly string[], ceilings: readonly (readonly string[])[] = []) {
    this.#layers = [hosts, ...ceilings].map((layer) => layer.flatMap((pattern) => {
      const match = PATTERN.exec(pattern)
      if (match === null) return []
      const [, below, named, port] = match
      const host = named!.replace(/^\[|\]$/g, '')
      const address = canonicalAddress(host)
      return [{ below: below !== undefined, host, address, port: port === undefined ? undefined : Number(port) }]
    }))
  }

  /** Of a name in lower case, or an address without brackets. */
  covers(host: string, port: number): boolean {
    const address = canonicalAddress(host)
    return this.#layers.every((patterns) => patterns.some((pattern) => {
      if (!reaches(pattern, port)) return false
      if (address !== undefined) return !pattern.below && pattern.address === address
      if (pattern.host === EVERY_NAME) return !pattern.below
      return pattern.below ? host.endsWith(`.${pattern.host}`) && host.length > pattern.host.length + 1 : pattern.host === host
    }))
  }

  /** Why a host may not be reached at an address, as what the address is; undefined when it may. */
  refuses(address: string, host: string, port: number): AddressKind | undefined {
    const kind = addressKind(address)
    // A name that means this machine does not mean a public one, whoever answers for it: what is sent to it may go in clear text.
    if (kind === 'public' && !isLocalName(host)) return undefined
    if (NEVER.has(kind)) return kind
    const canonical = canonicalAddress(address)
    const local = kind === 'loopback' && isLocalName(host)
    const named = this.#layers.every((patterns) => patterns.some((pattern) =>
      !pattern.below && reaches(pattern, port) && (pattern.address === canonical || (local && pattern.host === host))))
    return named ? undefined : kind
  }
}

export const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

const reaches = ({ port: granted }: HostPattern, port: number): boolean =>
  granted === undefined ? DEFAULT_PORTS.has(port) : granted === port
