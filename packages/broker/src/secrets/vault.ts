import type { SecretGrant } from '@bulkhead/contract'
import { HostAllowList } from '../hosts/host-allow-list.ts'
import type { Target } from '../hosts/url-policy.ts'
import { SearchTerm } from './rolling-search.ts'
import { Redaction } from './redaction.ts'
import { encodedForms } from './encodings.ts'

/** A shorter value also occurs in ordinary text, and redacting that would reveal it. */
export const SECRET_CHARS = { least: 8, most: 4_096 } as const

/** Names of the secrets that each extension has sent. It outlives compartments, because a value can come back later. */
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

  /** For a response that passed these targets; undefined if no secret is for any of them. */
  redactionOf(targets: readonly Target[]): Redaction | undefined {
    return this.#redaction((secret) => targets.some((target) => secret.isFor(target)))
  }

  /** For the output of commands in one pipe. */
  redactionOfCommands(commands: readonly string[]): Redaction | undefined {
    return this.#redaction((secret) => secret.commands.some((command) => commands.includes(command)))
  }

  #redaction(concerns: (secret: Entry) => boolean): Redaction | undefined {
    const terms = [...this.#entries.values()].filter(concerns).flatMap((secret) => secret.terms)
    return terms.length === 0 ? undefined : new Redaction(terms)
  }
}

const isUsable = (value: string): boolean =>
  value.length >= SECRET_CHARS.least && value.length <= SECRET_CHARS.most && value.isWellFormed()
