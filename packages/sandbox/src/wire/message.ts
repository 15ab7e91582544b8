import type { Json } from '@bulkhead/kit/json'
import type { Message, Path } from './protocol.ts'

/** The first element of a message: a request, a value or an error, on one of the two channels. */
export const KINDS = {
  call: { request: 0, value: 1, failure: 2 },
  broker: { request: 3, value: 4, failure: 5 },
} as const

export type ChannelKinds = (typeof KINDS)[keyof typeof KINDS]

/** Descriptor of the socket to the host in a child process. */
export const CHANNEL_FD = 4

/** Limits on errors and on the nesting of a packet. */
export const WIRE_LIMITS = { errorChars: 10_000, errorDepth: 4, jsonDepth: 72 } as const

/**
 * Longer strings travel beside the JSON, because parsing a string takes many times as long as copying it. Without this
 * a call of 100 KB takes 2.5 times as long in a process, and three times the processor time 64 abreast.
 */
const LONG_CHARS = 4_096

/** Further long strings of a message stay in the JSON. */
export const MAX_LONG_STRINGS = 1_024

/** A packet is one message, or a list of messages. */
export const messagesOf = (packet: readonly unknown[]): readonly unknown[] =>
  typeof packet[0] === 'number' ? [packet] : packet

/** Length of a message of that kind without holes. The last element is its content. */
export const lengthOf = (kind: number): number => kind === KINDS.call.request || kind === KINDS.broker.request ? 4 : 3

/** Called for every message that is sent, so it allocates nothing. */
export function hasLongString(value: unknown): boolean {
  if (typeof value === 'string') return value.length > LONG_CHARS
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (hasLongString(value[index])) return true
    return false
  }
  for (const key in value) if (hasLongString((value as Readonly<Record<string, unknown>>)[key])) return true
  return false
}

/**
 * A copy without its long strings, which are added to `strings`, and their paths to `holes`. Parts without any are not
 * copied.
 */
export function takeOut(value: unknown, strings: string[], holes: Path[], path: (string | number)[] = []): unknown {
  if (typeof value === 'string') {
    // A lone surrogate survives in JSON, but not in UTF-8.
    if (value.length <= LONG_CHARS || strings.length === MAX_LONG_STRINGS || !value.isWellFormed()) return value
    strings.push(value)
    holes.push(path.slice())
    return null
  }
  if (typeof value !== 'object' || value === null) return value
  let copy: Record<string | number, unknown> | undefined
  const visit = (key: string | number, member: unknown): void => {
    path.push(key)
    const rest = takeOut(member, strings, holes, path)
    path.pop()
    if (rest === member) return
    copy ??= (Array.isArray(value) ? value.slice() : { ...value }) as unknown as Record<string | number, unknown>
    copy[key] = rest
  }
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) visit(index, value[index])
  // Assigning to `__proto__` would change the prototype of the copy.
  else for (const key in value) if (key !== '__proto__') visit(key, (value as Readonly<Record<string, unknown>>)[key])
  return copy ?? value
}

/**
 * Puts the next strings into the holes of a value that may come from a hostile compartment: paths follow own properties
 * only, and only `null` is replaced. Contract: throws a RangeError when a place or a string is missing.
 */
export function putBack(value: Json, holes: readonly Path[], strings: Iterator<string>): Json {
  const root: { [key: string | number]: Json } = { value }
  for (const path of holes) {
    const next = strings.next()
    if (next.done === true) throw new RangeError('a long string is missing')
    let holder = root
    let key: string | number = 'value'
    for (const step of path) {
      holder = holder[key] as typeof root
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) {
        throw new RangeError('a long string has no place')
      }
      key = step
    }
    if (holder[key] !== null) throw new RangeError('the place of a long string is taken')
    holder[key] = next.value
  }
  return root['value']!
}

/** Restores the long strings of a message in place. Contract: throws a RangeError where they do not fit. */
export function restore(message: Message, strings: Iterator<string>): void {
  const length = lengthOf(message[0])
  if (message.length === length) return
  const fields = message as unknown as Json[]
  const holes = fields.pop() as unknown as readonly Path[]
  fields[length - 1] = putBack(fields[length - 1]!, holes, strings)
}
