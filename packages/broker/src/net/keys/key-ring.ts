import { BulkheadError, type KeyGrant, type KeyUse } from '@bulkhead/contract'
import type { Target } from '../../hosts/url-policy.ts'
import type { Redaction } from '../../secrets/redaction.ts'
import { Vault, type StoredSecret } from '../../secrets/vault.ts'
import { KeyScope } from './key-scope.ts'
import { placeholderFor } from './placeholder.ts'

/** A request as a process sent it. */
export interface HeardRequest {
  readonly target: Target
  readonly method: string
  /** Names in lower case. */
  readonly headers: Headers
}

type Headers = Readonly<Record<string, readonly string[]>>

interface Key {
  readonly name: string
  readonly placeholder: string
  /** With the port. */
  readonly host: string
  /** In lower case. */
  readonly header: string
  readonly scope: KeyScope
  readonly secret: StoredSecret
}

export const authorityOf = ({ host, port }: Target): string => `${host}:${port}`
const withPort = (host: string): string => host.includes(':') ? host : `${host}:443`

/** The keys of one process, with a placeholder for each. Both are new with each start. */
export class KeyRing {
  readonly #keys: readonly Key[]
  readonly #vault: Vault
  readonly #onUse: (use: KeyUse) => void

  /** Throws CapabilityUnavailable for a value that cannot be replaced. `onUse` must not throw. */
  constructor(grants: readonly KeyGrant[], onUse: (use: KeyUse) => void) {
    const placeholders = grants.map(({ name, value }) => placeholderFor(name, value))
    const secrets = grants.map(({ name, value, host }) =>
      [name, { value, hosts: [withPort(host)], commands: [] }] as const)
    // A host may have stored a value that another start has sent, so all count as used.
    this.#vault = new Vault(new Map(secrets), new Set(grants.map(({ name }) => name)))
    this.#keys = grants.map((grant, at) => ({
      name: grant.name, placeholder: placeholders[at]!, host: withPort(grant.host), header: grant.header.toLowerCase(),
      scope: new KeyScope(grant), secret: this.#vault.get(grant.name)!,
    }))
    this.#onUse = onUse
  }

  /** The variables of the process. */
  get placeholders(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#keys.map(({ name, placeholder }) => [name, placeholder]))
  }

  /** The hosts whose traffic must be read, with ports. */
  get hosts(): readonly string[] {
    return [...new Set(this.#keys.map(({ host }) => host))]
  }

  /** For responses of a host. */
  redactionOf(target: Target): Redaction | undefined {
    return this.#vault.redactionOf([target])
  }

  /** The headers with the keys that this request may use. Reports each use, and each placeholder at another place. */
  insertInto(request: HeardRequest): Headers {
    const { url } = request.target
    const asked = readableUrl(url)
    for (const key of this.#keys) if (asked.includes(key.placeholder)) this.#report(key, request, 'in a URL')
    const inserted = (name: string, value: string): string =>
      this.#keys.reduce((text, key) => this.#insertOne(key, request, name, text), value)
    return Object.fromEntries(Object.entries(request.headers).map(([name, values]) =>
      [name, values.map((value) => inserted(name, value))]))
  }

  /** Reports a placeholder in the body of a request, or in one that no key is for. */
  watchBody(request: Omit<HeardRequest, 'headers'>): (chunk: Buffer) => void {
    const seen = this.#keys.map((key) => ({ key, bytes: Buffer.from(key.placeholder), isFound: false }))
    const longest = Math.max(0, ...seen.map(({ bytes }) => bytes.length))
    let tail: Buffer = Buffer.alloc(0)
    return (chunk) => {
      const all = Buffer.concat([tail, chunk])
      for (const one of seen) {
        if (one.isFound || !all.includes(one.bytes)) continue
        one.isFound = true
        this.#report(one.key, request, 'in a body')
      }
      tail = Buffer.from(all.subarray(Math.max(0, all.length - longest + 1)))
    }
  }

  #insertOne(key: Key, request: HeardRequest, header: string, text: string): string {
    const { target, method } = request
    const filled = replaced(text, key.placeholder, key.secret.value)
    if (filled === undefined) return text
    const isElsewhere = authorityOf(target) !== key.host || target.url.protocol !== 'https:'
    const refused = isElsewhere
      ? `for ${target.url.protocol}//${authorityOf(target)}, and it is for https://${key.host} only`
      : header !== key.header ? `in the header ${header}, and it is for ${key.header} only`
      : key.scope.refuses(method, target.url.pathname) ?? this.#deriveFault(key, filled.derived)
    this.#report(key, request, refused)
    return refused === undefined ? filled.text : text
  }

  #deriveFault({ secret }: Key, derived: string | undefined): string | undefined {
    try {
      if (derived !== undefined) this.#vault.derive(secret, derived)
      return undefined
    } catch (error) {
      if (!BulkheadError.is(error)) throw error
      return 'with too many user names'
    }
  }

  #report({ name }: Key, { target, method }: Omit<HeardRequest, 'headers'>, refused: string | undefined): void {
    const path = target.url.pathname.slice(0, PATH_CHARS)
    this.#onUse({ key: name, host: authorityOf(target), method, path, ...(refused !== undefined && { refused }) })
  }
}

/** Of a path in a record. */
const PATH_CHARS = 256

const BASIC = /^Basic +([A-Za-z0-9+/=]+)$/i

interface Filled {
  readonly text: string
  /** What was computed from the value. */
  readonly derived?: string
}

/** The text of a header with the value, also inside basic credentials. undefined if there is no placeholder. */
function replaced(text: string, placeholder: string, value: string): Filled | undefined {
  if (text.includes(placeholder)) return { text: text.replaceAll(placeholder, () => value) }
  const [, encoded] = BASIC.exec(text) ?? []
  const credentials = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('latin1')
  if (!credentials.includes(placeholder)) return undefined
  const derived = Buffer.from(credentials.replaceAll(placeholder, () => value), 'latin1').toString('base64')
  return { text: `Basic ${derived}`, derived }
}

function readableUrl({ pathname, search }: URL): string {
  try {
    return decodeURIComponent(pathname + search)
  } catch {
    return pathname + search
  }
}
