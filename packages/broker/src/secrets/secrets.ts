import type { SecretGrant } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { CapabilityUnit } from '../model/capability.ts'
import { textArgument } from '../model/capability.ts'
import { requireUnderCeilings } from '../model/denial.ts'
import type { CallSecrets } from './handles.ts'
import { HandedSecrets } from './handles.ts'
import { SECRET_CHARS, Vault } from './vault.ts'

export interface SecretsCapability extends CapabilityUnit {
  /** What other capabilities may do with the secrets of a call. */
  of(callId: string): CallSecrets
}

/** Secrets by declared name, as handles: their values leave the host's side for their hosts and commands only. `used`: names of those that did. */
export function secretsCapability(secrets: ReadonlyMap<string, SecretGrant>, used = new Set<string>()): SecretsCapability {
  const vault = new Vault(secrets, used)
  const calls = new Map<string, HandedSecrets>()
  const handedTo = (callId: string): HandedSecrets => {
    const handed = calls.get(callId) ?? new HandedSecrets(vault)
    calls.set(callId, handed)
    return handed
  }
  return {
    capabilities: {
      'secrets.handle'({ callId, tool }, args) {
        const name = textArgument(args, 0, 'The name of a secret', 128)
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
    `The secret ${name} has fewer than ${SECRET_CHARS.least} or more than ${SECRET_CHARS.most} characters and could not be kept out of answers. `
      + 'It is not given out; use another one.',
    { data: { name } },
  )
