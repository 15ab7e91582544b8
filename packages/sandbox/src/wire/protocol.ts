import type { Channel, WireError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Path } from './long-text.ts'
import { putBack } from './long-text.ts'

/**
 * What crosses: Comlink's messages without the names of their fields, because a third of a short call would go into writing
 * and reading those. `holes` are the places of long texts in what stands before them.
 */
export type Message = Request | Value | Failure
export type Request = readonly [kind: number, id: number, method: string, args: readonly Json[], holes?: readonly Path[]]
export type Value = readonly [kind: number, id: number, value: Json, holes?: readonly Path[]]
export type Failure = readonly [kind: number, id: number, error: WireError, holes?: readonly Path[]]

/** What a message is: a question, or either answer to one, by the channel it is on. */
export const KINDS = {
  call: { request: 0, value: 1, failure: 2 },
  broker: { request: 3, value: 4, failure: 5 },
} as const satisfies Readonly<Record<Channel, Readonly<Record<'request' | 'value' | 'failure', number>>>>

/** One message is a packet by itself; several are a list of them. */
export const messagesOf = (packet: readonly unknown[]): readonly unknown[] => typeof packet[0] === 'number' ? [packet] : packet

/** How long a message of that kind is without holes. The last is what it carries. */
export const lengthOf = (kind: number): number => kind === KINDS.call.request || kind === KINDS.broker.request ? 4 : 3

/** Puts the next of the texts into the holes of the message itself. Contract: throws a RangeError where they do not fit. */
export function whole(message: Message, texts: Iterator<string>): Message {
  const length = lengthOf(message[0])
  if (message.length === length) return message
  // It was parsed for us alone.
  const fields = message as unknown as Json[]
  const holes = fields.pop() as unknown as readonly Path[]
  fields[length - 1] = putBack(fields[length - 1]!, holes, texts)
  return message
}
