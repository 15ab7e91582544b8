import type { SecretGrant } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { CapabilityUnit } from '../capability.ts'
import { textArgument } from '../capability.ts'
import type { CallSecrets } from './call-secrets.ts'
import { HandedSecrets } from './call-secrets.ts'
import { Redaction } from './redaction.ts'

/** A shorter one is also part of ordinary text: taking it out of answers would tell where it was. */
const SHORTEST = 8
const LONGEST = 4_096

export interface SecretsCapability extends CapabilityUnit {
  /** What other capabilities may do with the secrets of a call. */
  of(callId: string): CallSecrets
}

/** Secrets by declared name, as handles: their values leave the host's side for their hosts and commands only. */
export function secretsCapability(secrets: ReadonlyMap<string, SecretGrant>): SecretsCapability {
  const values = [...secrets.values()].flatMap(({ value }) => (value !== undefined && isUsable(value) ? [value] : []))
  const redaction = new Redaction(values)
  const calls = new Map<string, HandedSecrets>()
  const handedTo = (callId: string): HandedSecrets => {
    const handed = calls.get(callId) ?? new HandedSecrets(redaction)
    calls.set(callId, handed)
    return handed
  }
  return {
    capabilities: {
      'secrets.handle'({ callId }, args) {
        const name = textArgument(args, 0, 'The name of a secret', 128)
        const secret = secrets.get(name)
        if (secret === undefined) {
          const message = `The manifest does not name the secret ${name}. Add it to \`secrets\`.`
          throw new BulkheadError('EnvNameUndeclared', message, { data: { name } })
        }
        if (secret.value === undefined || secret.value === '') {
          const message = `The secret ${name} has no value here. Set the variable for the host.`
          throw new BulkheadError('EnvNameNotSet', message, { data: { name } })
        }
        if (!isUsable(secret.value)) throw unusable(name)
        return handedTo(callId).handle({ ...secret, name, value: secret.value })
      },
    },
    of: handedTo,
    endCall: (callId) => void calls.delete(callId),
    async close() {
      calls.clear()
    },
  }
}

const isUsable = (value: string): boolean => value.length >= SHORTEST && value.length <= LONGEST && value.isWellFormed()

const unusable = (name: string): BulkheadError =>
  new BulkheadError(
    'CapabilityUnavailable',
    `The secret ${name} has fewer than ${SHORTEST} or more than ${LONGEST} characters and could not be kept out of answers. `
      + 'It is not given out; use another one.',
    { data: { name } },
  )
