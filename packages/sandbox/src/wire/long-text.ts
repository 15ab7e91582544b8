import type { Json } from '@bulkhead/kit/json'

/** To parse a text takes many times as long as to copy it, so a longer one travels beside the JSON it belongs in. */
const LONG_TEXT_CHARS = 4_096

/** More of them in one message stay where they are. */
export const MAX_TEXTS = 1_024

/** The keys and indexes that lead from a value to a text of it. There, `null` keeps its place. */
export type Path = readonly (string | number)[]

/** Asked of everything that is sent, so it makes nothing. */
export function holdsLongText(value: unknown): boolean {
  if (typeof value === 'string') return value.length > LONG_TEXT_CHARS
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (holdsLongText(value[index])) return true
    return false
  }
  for (const key in value) if (holdsLongText((value as Readonly<Record<string, unknown>>)[key])) return true
  return false
}

/** A copy without its long texts; what holds none is not copied. They are added to `texts`, and to `holes` where they were. */
export function takeOut(value: unknown, texts: string[], holes: Path[], path: (string | number)[] = []): unknown {
  if (typeof value === 'string') {
    // Half a surrogate pair survives in JSON, but not in UTF-8.
    if (value.length <= LONG_TEXT_CHARS || texts.length === MAX_TEXTS || !value.isWellFormed()) return value
    texts.push(value)
    holes.push(path.slice())
    return null
  }
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? takeOutOfList(value, texts, holes, path) : takeOutOfRecord(value, texts, holes, path)
}

function takeOutOfList(list: readonly unknown[], texts: string[], holes: Path[], path: (string | number)[]): unknown {
  let copy: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    path.push(index)
    const rest = takeOut(list[index], texts, holes, path)
    path.pop()
    if (rest !== list[index]) (copy ??= list.slice())[index] = rest
  }
  return copy ?? list
}

function takeOutOfRecord(record: object, texts: string[], holes: Path[], path: (string | number)[]): unknown {
  let copy: Record<string, unknown> | undefined
  for (const key in record) {
    // To assign to it would not change the copy but what it inherits from.
    if (key === '__proto__') continue
    const member = (record as Readonly<Record<string, unknown>>)[key]
    path.push(key)
    const rest = takeOut(member, texts, holes, path)
    path.pop()
    if (rest !== member) (copy ??= { ...record })[key] = rest
  }
  return copy ?? record
}

/**
 * The value with its texts back in their places. All of it may be a stranger's: a path is followed along own properties, and
 * what is replaced is never anything but a `null`. Contract: throws a RangeError when there is no such place or text.
 */
export function putBack(value: Json, holes: readonly Path[], texts: Iterator<string>): Json {
  const root: { [key: string | number]: Json } = { value }
  for (const path of holes) {
    const text = texts.next()
    if (text.done === true) throw new RangeError('a text is missing')
    let holder = root
    let key: string | number = 'value'
    for (const step of path) {
      holder = holder[key] as typeof root
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) {
        throw new RangeError('a text has no place')
      }
      key = step
    }
    if (holder[key] !== null) throw new RangeError('the place of a text is taken')
    holder[key] = text.value
  }
  return root['value']!
}
