import { randomBytes } from 'node:crypto'
import { BulkheadError, type SecretGrant } from '@bulkhead/contract'
import type { Target } from '../hosts/url-policy.ts'
import { requireUnderCeilings, stringArgument, type CapabilityUnit } from '../model/capability.ts'
import { isConfidential, SECRET_CHARS, Vault, type StoredSecret } from './vault.ts'

export interface SecretsCapability extends CapabilityUnit {
  /** The secrets of a call, for other capabilities. */
  of(callId: string): CallSecrets
}

/**
 * Gives out secrets as handles. Values go only to their hosts and commands. `used`: names of the secrets already sent.
 */
export function secretsCapability(
  secrets: ReadonlyMap<string, SecretGrant>, used = new Set<string>(),
): SecretsCapability {
  const vault = new Vault(secrets, used)
  const calls = new Map<string, SecretHandles>()
  const handlesOf = (callId: string): SecretHandles => {
    const handles = calls.get(callId) ?? new SecretHandles(vault)
    calls.set(callId, handles)
    return handles
  }
  return {
    capabilities: {
      'secrets.handle'({ callId, tool }, args) {
        const name = stringArgument(args, 0, 'The name of the secret', 128)
        const secret = secrets.get(name)
        if (secret === undefined) {
          const message = `The manifest does not name the secret ${name}. Add it to \`secrets\`.`
          throw new BulkheadError('EnvNameUndeclared', message, { data: { name } })
        }
        requireUnderCeilings(tool, 'secrets', `use the secret ${name}`, (ceiling) =>
          ceiling.secrets.some((one) => one.name === name))
        if (secret.value === undefined || secret.value === '') {
          const message = `The secret ${name} has no value here. Set the variable for the host.`
          throw new BulkheadError('EnvNameNotSet', message, { data: { name } })
        }
        const usable = vault.get(name)
        if (usable === undefined) throw unusable(name)
        return handlesOf(callId).handle(usable)
      },
    },
    of: handlesOf,
    endCall: (callId) => void calls.delete(callId),
    async close() {
      calls.clear()
    },
  }
}

const unusable = (name: string): BulkheadError =>
  new BulkheadError(
    'CapabilityUnavailable',
    `The secret ${name} has fewer than ${SECRET_CHARS.least} or more than ${SECRET_CHARS.most} characters, `
      + 'so it cannot be redacted reliably. Use a longer or shorter secret.',
    { data: { name } },
  )

/** Characters that a header can carry. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

/** The secrets of one call, as net and shell use them. */
export interface CallSecrets {
  /**
   * Replaces handles in headers by their values. `Basic user:handle` is encoded. Throws CapabilityDenied if the secret
   * is not for this target.
   */
  inHeaders(headers: ReadonlyMap<string, string>, target: Target): ReadonlyMap<string, string>
  /** The same for the query of a URL. Values are percent-encoded. */
  inQuery(query: string, target: Target): string
  /** The same for an argument or the input of a command. */
  inText(text: string, command: string): string
  /**
   * Throws CapabilityDenied if a redirect would bring the value of a secret to a host that it is not for. `sent` is
   * everything that the next target would receive.
   */
  requireOwnHosts(sent: readonly Buffer[], next: Target, visited: readonly Target[]): Promise<void>
  readonly vault: Vault
}

/** The handles that were given to one call. */
class SecretHandles implements CallSecrets {
  readonly vault: Vault
  readonly #byName = new Map<string, string>()
  readonly #byHandle = new Map<string, StoredSecret>()

  constructor(vault: Vault) {
    this.vault = vault
  }

  /** One handle per secret. */
  handle(secret: StoredSecret): string {
    const known = this.#byName.get(secret.name)
    if (known !== undefined) return known
    const handle = newHandle(secret.name)
    this.#byName.set(secret.name, handle)
    this.#byHandle.set(handle, secret)
    return handle
  }

  inHeaders(headers: ReadonlyMap<string, string>, target: Target): ReadonlyMap<string, string> {
    return new Map([...headers].map(([name, text]) => [name, this.#inHeader(text, target)]))
  }

  inQuery(query: string, target: Target): string {
    return this.#replace(query, (secret) => encodeURIComponent(forHost(secret, target)))
  }

  async requireOwnHosts(sent: readonly Buffer[], next: Target, visited: readonly Target[]): Promise<void> {
    const stray = await this.vault.strayIn(sent, next, visited)
    if (stray === undefined) return
    const { name } = stray
    const what = `The host ${visited.at(-1)!.host} redirects with the value of the secret ${name}.`
    throw denied(`${what} ${refusalOf(stray, next)!}`, name)
  }

  #inHeader(text: string, target: Target): string {
    const plain = this.#replace(text, (secret) => forHost(secret, target))
    // Encoded credentials have no colon, so a secret that is encoded already is sent as it is.
    const isBasic = hasHandle(text) && /^Basic .*:/i.test(replaceHandles(text, () => ''))
    if (!isBasic) return plain
    const encoded = Buffer.from(plain.slice('Basic '.length)).toString('base64')
    for (const [handle] of text.matchAll(HANDLE)) this.vault.derive(this.#byHandle.get(handle)!, encoded)
    return `Basic ${encoded}`
  }

  inText(text: string, command: string): string {
    return this.#replace(text, (secret) => forCommand(secret, command))
  }

  #replace(text: string, valueFor: (secret: StoredSecret) => string): string {
    return replaceHandles(text, (handle) => {
      const secret = this.#byHandle.get(handle)
      if (secret === undefined) throw denied('The handle is unknown in this call. Get a new handle in each call.')
      const value = valueFor(secret)
      this.vault.use(secret)
      return value
    })
  }
}

function forHost(secret: StoredSecret, target: Target): string {
  const { name, value } = secret
  const refusal = refusalOf(secret, target)
  if (refusal !== undefined) throw denied(refusal, name)
  if (!SENDABLE.test(value)) throw denied(`The secret ${name} contains characters that a header cannot carry.`, name)
  return value
}

/** Why the secret may not go to the target; undefined if it may. */
function refusalOf(secret: StoredSecret, target: Target): string | undefined {
  const { name } = secret
  if (!secret.isFor(target)) {
    return `The secret ${name} may not be sent to ${target.url.host}. Name the host in \`secrets\` of the manifest.`
  }
  return isConfidential(target) ? undefined : `The secret ${name} is not sent over http. Use https.`
}

function forCommand({ name, value, commands }: StoredSecret, command: string): string {
  if (!commands.includes(command)) {
    throw denied(
      `The secret ${name} may not be given to ${command}. Name the command in \`secrets\` of the manifest.`,
      name,
    )
  }
  if (value.includes('\0')) throw denied(`The secret ${name} contains a NUL, which an argument cannot carry.`, name)
  return value
}

const denied = (message: string, name?: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', message, { data: { power: 'secrets', ...(name !== undefined && { name }) } })

const HANDLE = /\{\{secret:[A-Za-z_][A-Za-z0-9_]{0,127}:[A-Za-z0-9_-]{22}\}\}/g

/**
 * A placeholder for a secret. It is random, so that an argument of a model or a page from the network cannot contain
 * one.
 */
export const newHandle = (name: string): string => `{{secret:${name}:${randomBytes(16).toString('base64url')}}}`

export const hasHandle = (text: string): boolean => text.search(HANDLE) >= 0

export const replaceHandles = (text: string, valueOf: (handle: string) => string): string =>
  text.replaceAll(HANDLE, (handle) => valueOf(handle))
