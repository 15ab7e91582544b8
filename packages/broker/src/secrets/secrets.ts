import type { SecretGrant } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { requireUnderCeilings, stringArgument, type CapabilityUnit } from '../model/capability.ts'
import { SecretHandles, type CallSecrets } from './handles.ts'
import { SECRET_CHARS, Vault } from './vault.ts'

export interface SecretsCapability extends CapabilityUnit {
  /** The secrets of a call, for other capabilities. */
  of(callId: string): CallSecrets
}

/** Gives out secrets as handles. Values go only to their hosts and commands. `used`: names of the secrets already sent. */
export function secretsCapability(secrets: ReadonlyMap<string, SecretGrant>, used = new Set<string>()): SecretsCapability {
  const vault = new Vault(secrets, used)
  const calls = new Map<string, SecretHandles>()
  const handedTo = (callId: string): SecretHandles => {
    const handed = calls.get(callId) ?? new SecretHandles(vault)
    calls.set(callId, handed)
    return handed
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
        requireUnderCeilings(tool, 'secrets', `use the secret ${name}`, (ceiling) => ceiling.secrets.some((one) => one.name === name))
        if (secret.value === undefined || secret.value === '') {
          const message = `The secret ${name} has no value here. Set the variable for the host.`
          throw new BulkheadError('EnvNameNotSet', message, { data: { name } })
        }
        const usable = vault.get(name)
        if (usable === undefined) throw unusable(name)
        return handedTo(callId).handle(usable)
      },
    },
    of: handedTo,
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
