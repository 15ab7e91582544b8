import type { SecretGrant } from '@bulkhead/contract'
import { HostScope } from '../hosts/host-allow-list.ts'
import type { Target } from '../hosts/url-policy.ts'
import { Sought } from './rolling-search.ts'
import { Redaction } from './redaction.ts'
import { writtenForms } from './encodings.ts'

/** A shorter one is also part of ordinary text: taking it out of answers would tell where it was. */
export const SECRET_CHARS = { least: 8, most: 4_096 } as const

/** Names of the secrets that extensions have sent somewhere. It outlives compartments: what was sent can come back later. */
export class UsedSecrets {
  readonly #byExtension = new Map<string, Set<string>>()

  /** Grows as the extension uses more of them. */
  of(extensionId: string): Set<string> {
    const used = this.#byExtension.get(extensionId) ?? new Set<string>()
    this.#byExtension.set(extensionId, used)
    return used
  }
}

export interface VaultedSecret {
  readonly name: string
  readonly value: string
  isFor(target: Target): boolean
  readonly commands: readonly string[]
}

interface Entry extends VaultedSecret {
  readonly sought: readonly Sought[]
}

/**
 * The secrets of an extension. A value is taken out only where it can be: of what its own hosts and commands answer, once
 * it was used. Everywhere else a redaction would confirm guesses.
 */
export class Vault {
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #used: Set<string>

  constructor(grants: ReadonlyMap<string, SecretGrant>, used: Set<string>) {
    this.#used = used
    this.#entries = new Map([...grants].flatMap(([name, { value, hosts, commands }]) => {
      if (value === undefined || !isUsable(value)) return []
      const scope = new HostScope(hosts)
      const counts = (): boolean => used.has(name)
      const sought = writtenForms(value).map((bytes) => new Sought(bytes, counts))
      return [[name, { name, value, commands, sought, isFor: ({ host, port }: Target) => scope.covers(host, port) }]]
    }))
  }

  get(name: string): VaultedSecret | undefined {
    return this.#entries.get(name)
  }

  /** From here on its value may come back. */
  use({ name }: VaultedSecret): void {
    this.#used.add(name)
  }

  /** For what came by way of these places; undefined where no secret is for any of them. */
  redactionOf(targets: readonly Target[]): Redaction | undefined {
    return this.#redaction((secret) => targets.some((target) => secret.isFor(target)))
  }

  /** For what commands write that are connected to each other. */
  redactionOfCommands(commands: readonly string[]): Redaction | undefined {
    return this.#redaction((secret) => secret.commands.some((command) => commands.includes(command)))
  }

  #redaction(concerns: (secret: Entry) => boolean): Redaction | undefined {
    const sought = [...this.#entries.values()].filter(concerns).flatMap((secret) => secret.sought)
    return sought.length === 0 ? undefined : new Redaction(sought)
  }
}

const isUsable = (value: string): boolean =>
  value.length >= SECRET_CHARS.least && value.length <= SECRET_CHARS.most && value.isWellFormed()
