import { BulkheadError } from '@bulkhead/contract'
import { addressKind } from '../hosts/address-policy.ts'
import { isLocalName } from '../hosts/host-allow-list.ts'
import type { Target } from '../hosts/url-policy.ts'
import { newHandle, replaceHandles } from './handle.ts'
import type { Vault, VaultedSecret } from './vault.ts'

/** As of a header. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What the network and commands may do with the secrets of one call. */
export interface CallSecrets {
  /** Headers with values in the place of handles. Throws CapabilityDenied for a place that is not one of the secret's. */
  inHeaders(headers: ReadonlyMap<string, string>, target: Target): ReadonlyMap<string, string>
  /** A text for a command, in the same way. */
  inText(text: string, command: string): string
  readonly vault: Vault
}

/** The secrets whose handles one call was given. */
export class HandedSecrets implements CallSecrets {
  readonly vault: Vault
  readonly #byName = new Map<string, string>()
  readonly #byHandle = new Map<string, VaultedSecret>()

  constructor(vault: Vault) {
    this.vault = vault
  }

  /** The same for the same secret. */
  handle(secret: VaultedSecret): string {
    const known = this.#byName.get(secret.name)
    if (known !== undefined) return known
    const handle = newHandle(secret.name)
    this.#byName.set(secret.name, handle)
    this.#byHandle.set(handle, secret)
    return handle
  }

  inHeaders(headers: ReadonlyMap<string, string>, target: Target): ReadonlyMap<string, string> {
    return new Map([...headers].map(([name, text]) => [name, this.#replace(text, (secret) => forHost(secret, target))]))
  }

  inText(text: string, command: string): string {
    return this.#replace(text, (secret) => forCommand(secret, command))
  }

  #replace(text: string, valueFor: (secret: VaultedSecret) => string): string {
    return replaceHandles(text, (handle) => {
      const secret = this.#byHandle.get(handle)
      if (secret === undefined) throw denied('A handle of another call, or of no secret, was used. Ask for one in each call.')
      const value = valueFor(secret)
      this.vault.use(secret)
      return value
    })
  }
}

function forHost(secret: VaultedSecret, target: Target): string {
  const [{ name, value }, { url, host }] = [secret, target]
  if (!secret.isFor(target)) {
    throw denied(`The secret ${name} may not be sent to ${url.host}. Name the host in \`secrets\` of the manifest.`, name)
  }
  // On the way to another machine anyone could read it.
  if (url.protocol !== 'https:' && !isThisMachine(host)) {
    throw denied(`The secret ${name} is not sent over http. Use https.`, name)
  }
  if (!SENDABLE.test(value)) throw denied(`The secret ${name} has characters that no header can carry.`, name)
  return value
}

const isThisMachine = (host: string): boolean => isLocalName(host) || addressKind(host) === 'loopback'

function forCommand({ name, value, commands }: VaultedSecret, command: string): string {
  if (!commands.includes(command)) {
    throw denied(`The secret ${name} may not be given to ${command}. Name the command in \`secrets\` of the manifest.`, name)
  }
  if (value.includes('\0')) throw denied(`The secret ${name} has a NUL in it, which no argument can carry.`, name)
  return value
}

const denied = (message: string, name?: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', message, { data: { power: 'secrets', ...(name !== undefined && { name }) } })
