import type { BrokerMethod } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { PlainLimits } from '../wire/plain-json.ts'
import { toPlainJson } from '../wire/plain-json.ts'
import { CodedError } from '../wire/remote-error.ts'

/** How code of an extension reaches the broker: over the wire from a compartment, directly when it runs inline. */
export type Ask = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/** A capability call of one tool call: the broker judges it by the grant of that call's tool. */
export type AskForCall = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/** Refuses here what the host would take for an attack there: honest code makes mistakes too. */
export function askPlainly(ask: Ask, limits: PlainLimits): Ask {
  return async (method, ...args) => ask(method, ...args.map((arg) => {
    const plain = toPlainJson(arg, limits)
    if (!plain.ok) throw new CodedError('InputInvalid', `${method} was given something that cannot be sent. ${plain.message}`)
    return plain.value
  }))
}
