import { CALL_LIMITS, type Completion, type Content, type OutcomeBody } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { headAndTail } from '@bulkhead/kit/text'

/** The part of a result that fits, and the whole as text if something was cut. */
export interface Truncated {
  readonly body: OutcomeBody
  readonly whole: string | undefined
}

/**
 * Cuts a result to its head: strings between characters, lists and objects after their last whole member, so that the
 * rest keeps the form of the tool's result. Images, audio and binary resources are kept whole, up to the number that a
 * model is shown. Links are kept whole while they fit.
 */
export function truncate(
  body: OutcomeBody, maxBytes: number, maxEntries = Infinity, keepsTail = false,
): Truncated {
  const shown = body.type === 'output' && maxEntries !== Infinity
    ? firstEntries(body.data, maxEntries, keepsTail) : undefined
  if (body.type !== 'output' || shown === undefined || shown === body.data) {
    return truncateBytes(body, maxBytes, keepsTail)
  }
  const cut = truncateBytes({ ...body, data: shown }, maxBytes, keepsTail)
  return { body: cut.body, whole: JSON.stringify(body.data, null, 2) }
}

/** Shown of the end of a list, as a member of its own. */
const LAST_ENTRIES = 20

/** Returns the value itself if neither it nor a member is a longer list. */
function firstEntries(data: Json, maxEntries: number, keepsTail: boolean): Json {
  if (Array.isArray(data)) return data.length > maxEntries ? data.slice(0, maxEntries) : data
  if (typeof data !== 'object' || data === null) return data
  const isLong = (value: Json): value is readonly Json[] => Array.isArray(value) && value.length > maxEntries
  const long = Object.values(data).find(isLong)
  if (long === undefined) return data
  const last = keepsTail ? { last: long.slice(Math.max(maxEntries, long.length - LAST_ENTRIES)) } : {}
  return { ...last, ...Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, isLong(value) ? value.slice(0, maxEntries) : value]),
  ) }
}

/** Whether it has at most so many bytes as JSON. */
export const isWhole = (body: OutcomeBody, maxBytes: number): boolean =>
  jsonBytes(body as unknown as Json, maxBytes, exactly) <= maxBytes

/** About its length as JSON: what JSON escapes is not counted. */
export const jsonChars = (value: Json): number => jsonBytes(value, Infinity, (text) => text.length)

function truncateBytes(body: OutcomeBody, maxBytes: number, keepsTail: boolean): Truncated {
  const proper = truncateProper(body, maxBytes, keepsTail)
  if (body.type === 'output' && body.details === undefined && body.completion === undefined) return proper
  const beside = truncateBeside(proper.body, maxBytes)
  const wholes = [proper.whole, beside.whole].filter((whole) => whole !== undefined)
  return { body: beside.body, whole: wholes.length === 0 ? undefined : wholes.join('\n') }
}

/** The limit applies to details, completion and error data too: some of it reaches models. */
function truncateBeside(body: OutcomeBody, maxBytes: number): Truncated {
  const wholes: string[] = []
  const bounded = (value: Json): Json => {
    if (fits(value, maxBytes)) return value
    wholes.push(wholeOf(value, null))
    return typeof value === 'string' ? headOfText(value, maxBytes) : headOf(value, { left: maxBytes }) ?? null
  }
  let cut = body
  if (body.details !== undefined) cut = { ...cut, details: bounded(body.details) }
  if (body.completion !== undefined) {
    const texts = Object.entries(body.completion)
      .map(([key, value]) => [key, typeof value === 'string' ? bounded(value) : value])
    cut = { ...cut, completion: Object.fromEntries(texts) as Completion }
  }
  // A paused call needs all of its question, which the host has limited.
  if (cut.type === 'error' && cut.error.data !== undefined && cut.error.code !== 'ClarificationNeeded') {
    cut = { ...cut, error: { ...cut.error, data: bounded(cut.error.data) } }
  }
  return wholes.length === 0 ? { body, whole: undefined } : { body: cut, whole: wholes.join('\n') }
}

function truncateProper(body: OutcomeBody, maxBytes: number, keepsTail: boolean): Truncated {
  const main: Json = body.type === 'output' ? body.data : body.error_text
  if (body.content === undefined && fits(main, maxBytes)) return { body, whole: undefined }
  const blocks = body.content ?? []
  const textBytes = blocks.reduce((bytes, part) => bytes + nameBytes(part) + Buffer.byteLength(textOf(part)), 0)
  const isMany = blocks.filter(isMedia).length > CALL_LIMITS.shownImages
  const isLong = !fits(main, maxBytes)
  if (!isLong && textBytes <= maxBytes && !isMany) return { body, whole: undefined }
  const content = body.content === undefined ? {} : { content: headOfContent(body.content, maxBytes) }
  const head = typeof main === 'string' ? headOfText(main, maxBytes)
    : headOf(main, { left: maxBytes, keepsTail }) ?? null
  const wholes = isMany || textBytes > maxBytes ? [wholeOfContent(blocks, isMany)] : []
  return {
    body: body.type === 'output'
      ? { ...body, ...content, data: head } : { ...body, ...content, error_text: String(head) },
    // Content often repeats the data as text.
    whole: [...new Set([...wholes, ...(isLong ? [wholeOf(main, head)] : [])])].join('\n'),
  }
}

/** If one string of an object was cut, that string alone, so that its lines stay lines: the rest is in the head. */
function wholeOf(value: Json, head: Json): string {
  if (typeof value === 'string') return value
  const only = isJsonObject(value) && isJsonObject(head) ? onlyCut(value, head) : undefined
  return typeof only === 'string' ? only : JSON.stringify(value, null, 2)
}

/** The one member that was cut; undefined if there are several. */
function onlyCut(value: JsonObject, head: JsonObject): Json | undefined {
  let found: Json | undefined
  for (const key of Object.keys(value)) {
    const [member, kept] = [value[key]!, head[key]]
    if (member === kept || JSON.stringify(member) === JSON.stringify(kept)) continue
    if (found !== undefined) return undefined
    found = member
  }
  return found
}

/**
 * Counts the bytes of the value as JSON without escapes: a model reads the text, and a file with many quotes is not
 * longer for it. Three bytes per character is an upper bound, so short values are not counted exactly.
 */
function fits(value: Json, maxBytes: number): boolean {
  return bytesOf(value, maxBytes, atMost) <= maxBytes || bytesOf(value, maxBytes, exactly) <= maxBytes
}

type TextBytes = (text: string) => number
const atMost: TextBytes = (text) => text.length * 3
const exactly: TextBytes = (text) => Buffer.byteLength(text)

const bytesOf = (value: Json, enough: number, textBytes: TextBytes): number =>
  typeof value === 'string' ? textBytes(value) : jsonBytes(value, enough, textBytes)

/** Stops counting after `enough`. */
function jsonBytes(value: Json, enough: number, textBytes: TextBytes): number {
  if (typeof value === 'string') return textBytes(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  // A bracket, and a separator after each member.
  let bytes = 1
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && bytes <= enough; index++) {
      bytes += 1 + jsonBytes(value[index], enough - bytes, textBytes)
    }
    return Math.max(bytes, 2)
  }
  // Not Object.entries: most members of a very large object are not read.
  const object = value as JsonObject
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue
    bytes += textBytes(key) + 4 + jsonBytes(object[key]!, enough - bytes, textBytes)
    if (bytes > enough) break
  }
  return Math.max(bytes, 2)
}

/** How many bytes of JSON may follow. */
interface Room {
  left: number
  /** Whether a text keeps its end, too. */
  readonly keepsTail?: boolean
}

/** Returns undefined if not even its beginning fits. */
function headOf(value: Json, room: Room): Json | undefined {
  if (typeof value === 'string') return headOfString(value, room)
  if (typeof value !== 'object' || value === null) return take(room, JSON.stringify(value).length) ? value : undefined
  if (!take(room, 2)) return undefined
  return Array.isArray(value) ? headOfList(value, room) : headOfObject(value as JsonObject, room)
}

function headOfString(text: string, room: Room): string | undefined {
  if (!take(room, 2)) return undefined
  const head = room.keepsTail ? headAndTail(text, room.left) : headOfText(text, room.left)
  take(room, Buffer.byteLength(head))
  return head
}

function headOfList(list: readonly Json[], room: Room): Json {
  const head: Json[] = []
  for (const item of list) {
    if (!take(room, 1)) break
    const fitting = headOf(item, room)
    if (fitting === undefined) break
    head.push(fitting)
  }
  return head
}

/**
 * Short members first: a count is worth more than the end of a long text. Long ones share what is left, so that none
 * takes the place of another. The order of the members stays.
 */
function headOfObject(object: JsonObject, room: Room): Json {
  const heads = new Map<string, Json>()
  const keys = Object.keys(object)
  const sized = keys.map((key) => ({ key, value: object[key]!, bytes: jsonBytes(object[key]!, room.left, atMost) }))
  const sorted = sized.toSorted((one, other) => one.bytes - other.bytes)
  for (const [index, { key, value, bytes }] of sorted.entries()) {
    if (room.left < SMALLEST_MEMBER) break
    if (!take(room, Buffer.byteLength(key) + 4)) continue
    // The members after it are as long.
    const share = bytes > room.left / 2 ? Math.floor(room.left / (sorted.length - index)) : room.left
    const own = { ...room, left: share }
    const fitting = headOf(value, own)
    room.left -= share - own.left
    if (fitting !== undefined) heads.set(key, fitting)
  }
  return Object.fromEntries(keys.flatMap((key) => heads.has(key) ? [[key, heads.get(key)!]] : []))
}

/** An empty name, its punctuation, and one digit. */
const SMALLEST_MEMBER = 5

function take(room: Room, bytes: number): boolean {
  if (bytes > room.left) return false
  room.left -= bytes
  return true
}

function headOfContent(content: readonly Content[], maxBytes: number): readonly Content[] {
  const room = { left: maxBytes }
  let media = 0
  return content.flatMap((part): readonly Content[] => {
    if (isMedia(part) && ++media > CALL_LIMITS.shownImages) return []
    if (!take(room, nameBytes(part))) return []
    if (part.type !== 'text' && (part.type !== 'resource' || part.text === undefined)) return [part]
    if (room.left <= 0) return []
    const text = headOfText(part.text, room.left)
    room.left -= Buffer.byteLength(text)
    return [{ ...part, text }]
  })
}

/** Whether a model reads it as bytes. */
const isMedia = (part: Content): boolean =>
  part.type === 'image' || part.type === 'audio' || (part.type === 'resource' && part.blob !== undefined)

const textOf = (part: Content): string => 'text' in part ? part.text ?? '' : ''

/** What names a resource counts as text too. It is not cut, because a part of it names something else. */
function nameBytes(part: Content): number {
  if (part.type !== 'resource' && part.type !== 'resource_link') return 0
  const { type: _type, ...named } = part
  return Object.entries(named).reduce(
    (bytes, [key, value]) => key === 'text' || key === 'blob' ? bytes : bytes + Buffer.byteLength(value), 0,
  )
}

/** The texts alone, so that their lines stay lines, if that is all that was cut. */
const wholeOfContent = (content: readonly Content[], isMany: boolean): string =>
  isMany || content.some(({ type }) => type === 'resource' || type === 'resource_link')
    ? JSON.stringify(content, null, 2)
    : content.flatMap((part) => part.type === 'text' ? [part.text] : []).join('\n')

/** At most so many bytes of UTF-8, without cutting a character. */
function headOfText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)))
  return text.slice(0, read)
}
