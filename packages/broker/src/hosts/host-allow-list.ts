import type { AddressKind } from './address-policy.ts'
import { addressKind, canonicalAddress } from './address-policy.ts'

/** A pattern without a port means these. */
const DEFAULT_PORTS: ReadonlySet<number> = new Set([80, 443])
/** Never reachable, even when listed. 0.0.0.0 would connect to this machine. */
const NEVER: ReadonlySet<AddressKind> = new Set(['unspecified', 'multicast', 'broadcast', 'unreadable'])
const PATTERN = /^(\*\.)?(\*|\[[0-9a-f:.]+\]|[^:[\]*]+)(?::(\d{1,5}))?$/

/** Every name whose addresses are public. */
const EVERY_NAME = '*'

interface HostPattern {
  readonly below: boolean
  readonly host: string
  /** Set if the host is an address. */
  readonly address: string | undefined
  readonly port: number | undefined
}

/**
 * The hosts of a grant. It is checked twice: for the name, then for each address the name resolves to. A listed name
 * does not admit an address that is not public, because the owner of the name chooses what it resolves to. Such an
 * address must be listed too. The exception is `localhost`, which admits loopback.
 */
export class HostAllowList {
  /** The grant and each of its ceilings. A host must be in all of them. */
  readonly #layers: readonly (readonly HostPattern[])[]

  /** An invalid pattern covers nothing. */
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

  /** `host` is a name in lower case, or an address without brackets. */
  covers(host: string, port: number): boolean {
    const address = canonicalAddress(host)
    return this.#layers.every((patterns) => patterns.some((pattern) => {
      if (!reaches(pattern, port)) return false
      if (address !== undefined) return !pattern.below && pattern.address === address
      if (pattern.host === EVERY_NAME) return !pattern.below
      return pattern.below ? host.endsWith(`.${pattern.host}`) && host.length > pattern.host.length + 1 : pattern.host === host
    }))
  }

  /** The kind of the address if the host may not be reached at it; undefined if it may. */
  refuses(address: string, host: string, port: number): AddressKind | undefined {
    const kind = addressKind(address)
    // localhost must not resolve to a public address: secrets may be sent to it unencrypted.
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
