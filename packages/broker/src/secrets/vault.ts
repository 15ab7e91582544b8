import { BulkheadError, type SecretGrant } from '@bulkhead/contract'
import { addressKind } from '@bulkhead/kit/addresses'
import { HostAllowList, isLocalName, type Target } from '../hosts/url-policy.ts'
import { Redaction, SearchTerm } from './redaction.ts'

/** A shorter value also occurs in ordinary text, and redacting that would reveal it. */
export const SECRET_CHARS = { least: 8, most: 4_096 } as const

/**
 * Names of the secrets that each extension has sent, and `name=form` for what was computed from one. It outlives
 * compartments, because a value can come back later.
 */
export class UsedSecrets {
  readonly #byExtension = new Map<string, Set<string>>()

  /** Grows as the extension uses more of them. */
  of(extensionId: string): Set<string> {
    const used = this.#byExtension.get(extensionId) ?? new Set<string>()
    this.#byExtension.set(extensionId, used)
    return used
  }
}

export interface StoredSecret {
  readonly name: string
  readonly value: string
  isFor(target: Target): boolean
  readonly commands: readonly string[]
}

interface Entry extends StoredSecret {
  readonly terms: readonly SearchTerm[]
}

/**
 * The secrets of an extension. A value is redacted only in responses of its own hosts and commands, and only after its
 * first use. Anywhere else a redaction would confirm guesses.
 */
export class Vault {
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #used: Set<string>

  constructor(grants: ReadonlyMap<string, SecretGrant>, used: Set<string>) {
    this.#used = used
    this.#entries = new Map([...grants].flatMap(([name, { value, hosts, commands }]) => {
      if (value === undefined || !isUsable(value)) return []
      const scope = new HostAllowList(hosts)
      const counts = (): boolean => used.has(name)
      const terms = encodedForms(value).map((bytes) => new SearchTerm(bytes, counts))
      return [[name, { name, value, commands, terms, isFor: ({ host, port }: Target) => scope.covers(host, port) }]]
    }))
  }

  get(name: string): StoredSecret | undefined {
    return this.#entries.get(name)
  }

  /** From now on its value may come back and is redacted. */
  use({ name }: StoredSecret): void {
    this.#used.add(name)
  }

  /** A value that was computed from the secret may come back too. Throws CapabilityDenied for too many. */
  derive({ name }: StoredSecret, form: string): void {
    const key = `${name}=${form}`
    const known = [...this.#used].filter((one) => one.startsWith(`${name}=`))
    if (known.length >= MOST_FORMS && !this.#used.has(key)) {
      throw new BulkheadError('CapabilityDenied', `The secret ${name} is combined with too many user names.`, {
        data: { power: 'secrets', name },
      })
    }
    this.#used.add(key)
  }

  /** For a response that passed these targets; undefined if no secret is for any of them. */
  redactionOf(targets: readonly Target[]): Redaction | undefined {
    return this.#redaction((secret) => targets.some((target) => secret.isFor(target)))
  }

  /**
   * A secret that a redirect would bring where it may not go: it is for one of the visited targets, not for the next
   * one, and its complete value is in what is sent. Redirects of other hosts are not searched. They got the value from
   * the tool or have it already, and a refusal would confirm guesses.
   */
  async strayIn(sent: readonly Buffer[], next: Target, visited: readonly Target[]): Promise<StoredSecret | undefined> {
    for (const secret of this.#entries.values()) {
      if ((secret.isFor(next) && isConfidential(next)) || !visited.some((target) => secret.isFor(target))) continue
      const redaction = this.#redaction((one) => one === secret)
      for (const bytes of sent) if (await redaction?.finds(bytes)) return secret
    }
    return undefined
  }

  /** For the output of commands in one pipe. */
  redactionOfCommands(commands: readonly string[]): Redaction | undefined {
    return this.#redaction((secret) => secret.commands.some((command) => commands.includes(command)))
  }

  #derivedTerms({ name }: Entry): readonly SearchTerm[] {
    const forms = [...this.#used].filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1))
    return forms.flatMap(encodedForms).map((bytes) => new SearchTerm(bytes, () => true))
  }

  #redaction(concerns: (secret: Entry) => boolean): Redaction | undefined {
    const terms = [...this.#entries.values()].filter(concerns)
      .flatMap((secret) => [...secret.terms, ...this.#derivedTerms(secret)])
    return terms.length === 0 ? undefined : new Redaction(terms)
  }
}

/** Unencrypted traffic to another machine can be read on the way. */
export const isConfidential = ({ url, host }: Target): boolean =>
  url.protocol === 'https:' || isLocalName(host) || addressKind(host) === 'loopback'

/** Forms that are computed from one secret, such as credentials with different user names. */
const MOST_FORMS = 16

const isUsable = (value: string): boolean =>
  value.length >= SECRET_CHARS.least && value.length <= SECRET_CHARS.most && value.isWellFormed()

/** Characters that encoders escape in a query, a path, a component (encodeURIComponent), RFC 3986, a form. */
const IN_URLS: readonly RegExp[] = [
  /[\0-\x20"#'<>\x7f-\u{10ffff}]/gu,
  /[\0-\x20"#<>?^`{}\x7f-\u{10ffff}]/gu,
  /[^A-Za-z0-9\-_.!~*'()]/gu,
  /[^A-Za-z0-9\-_.~]/gu,
  /[^A-Za-z0-9\-_.*]/gu,
]
/** Characters that encoders write as \u in JSON: none, non-ASCII, HTML-sensitive ones. */
const IN_JSON: readonly RegExp[] = [/(?!)/g, /[\x7f-\uffff]/g, /[<>&\u2028\u2029]/g, /[<>&='\u2028\u2029]/g]
const HTML: ReadonlyMap<string, string> = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['"', '&quot;']])

/**
 * The usual encodings in which a server or command echoes a value: as is, as misread bytes, in a URL, in JSON, in HTML,
 * or as a host name. Most values have only one or two different ones.
 */
export function encodedForms(value: string): readonly Buffer[] {
  const texts = [value, value.toLowerCase(), ...inUrls(value), ...inJson(value), ...inPages(value)]
  const bytes = Buffer.from(value)
  const forms = [
    ...[...new Set(texts)].map((text) => Buffer.from(text)),
    // As a header carries it, and UTF-8 read as Latin-1.
    ...(/^[\0-\xff]*$/.test(value) ? [Buffer.from(value, 'latin1')] : []),
    Buffer.from(bytes.toString('latin1')),
  ]
  return forms.filter((form, index) => forms.findIndex((other) => other.equals(form)) === index)
}

function inUrls(value: string): readonly string[] {
  const escaped = IN_URLS.flatMap((characters) => {
    const upper = value.replaceAll(characters, percentEncoded)
    return [upper, upper.replaceAll('%20', '+')]
  })
  return [...escaped, ...escaped.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()))]
}

const percentEncoded = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')

function inJson(value: string): readonly string[] {
  const plain = JSON.stringify(value).slice(1, -1)
  const escaped = IN_JSON.map((characters) =>
    plain.replaceAll(characters, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
  return [...escaped, ...escaped.map((text) => text.replaceAll('/', '\\/'))]
}

function inPages(value: string): readonly string[] {
  const escaped = value.replaceAll(/[&<>"]/g, (character) => HTML.get(character)!)
  return ["'", '&#39;', '&#039;', '&#x27;', '&apos;'].map((quote) => escaped.replaceAll("'", quote))
}
