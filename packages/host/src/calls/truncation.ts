import { CALL_LIMITS, type Completion, type Content, type OutcomeBody } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** The body as far as it fits, and the whole as text when something was left out. */
export interface Truncated {
  readonly body: OutcomeBody
  readonly whole: string | undefined
}

/**
 * The head of a result: texts are cut between characters, lists and objects after their last whole member, so what is
 * left is still of the tool's form. Images are kept whole, as many as a model is shown: half of one is none.
 */
export function truncate(body: OutcomeBody, maxBytes: number, maxEntries = Infinity): Truncated {
  const shown = body.type === 'output' && maxEntries !== Infinity ? firstEntries(body.data, maxEntries) : undefined
  if (body.type !== 'output' || shown === undefined || shown === body.data) return truncateBytes(body, maxBytes)
  const cut = truncateBytes({ ...body, data: shown }, maxBytes)
  return { body: cut.body, whole: JSON.stringify(body.data, null, 2) }
}

/** The value itself unless it is a list, or holds one, that is longer. */
function firstEntries(data: Json, maxEntries: number): Json {
  if (Array.isArray(data)) return data.length > maxEntries ? data.slice(0, maxEntries) : data
  if (typeof data !== 'object' || data === null) return data
  const isLong = (value: Json): value is readonly Json[] => Array.isArray(value) && value.length > maxEntries
  if (!Object.values(data).some(isLong)) return data
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, isLong(value) ? value.slice(0, maxEntries) : value]))
}

/** Whether all of it is within a number of bytes, as JSON. */
export const isWhole = (body: OutcomeBody, maxBytes: number): boolean => jsonBytes(body as unknown as Json, maxBytes, exactly) <= maxBytes

function truncateBytes(body: OutcomeBody, maxBytes: number): Truncated {
  const proper = truncateProper(body, maxBytes)
  if (body.type === 'output' && body.details === undefined && body.completion === undefined) return proper
  const beside = truncateBeside(proper.body, maxBytes)
  const wholes = [proper.whole, beside.whole].filter((whole) => whole !== undefined)
  return { body: beside.body, whole: wholes.length === 0 ? undefined : wholes.join('\n') }
}

/** What stands beside a result, for people and programs, is no way around the limit: projections hand some of it on to models. */
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
    const texts = Object.entries(body.completion).map(([key, value]) => [key, typeof value === 'string' ? bounded(value) : value])
    cut = { ...cut, completion: Object.fromEntries(texts) as Completion }
  }
  // Whoever goes on with a paused call needs all of its question, which the host has bounded.
  if (cut.type === 'error' && cut.error.data !== undefined && cut.error.code !== 'ClarificationNeeded') {
    cut = { ...cut, error: { ...cut.error, data: bounded(cut.error.data) } }
  }
  return wholes.length === 0 ? { body, whole: undefined } : { body: cut, whole: wholes.join('\n') }
}

function truncateProper(body: OutcomeBody, maxBytes: number): Truncated {
  const main: Json = body.type === 'output' ? body.data : body.error_text
  if (body.content === undefined && fits(main, maxBytes)) return { body, whole: undefined }
  const texts = body.content?.filter((part) => part.type === 'text').map((part) => part.text) ?? []
  const textBytes = texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
  const isMany = (body.content?.length ?? 0) - texts.length > CALL_LIMITS.shownImages
  const isLong = !fits(main, maxBytes)
  if (!isLong && textBytes <= maxBytes && !isMany) return { body, whole: undefined }
  const content = body.content === undefined ? {} : { content: headOfContent(body.content, maxBytes) }
  const head = typeof main === 'string' ? headOfText(main, maxBytes) : headOf(main, { left: maxBytes }) ?? null
  const wholes = isMany ? [JSON.stringify(body.content, null, 2)] : textBytes > maxBytes ? texts : []
  return {
    body: body.type === 'output' ? { ...body, ...content, data: head } : { ...body, ...content, error_text: String(head) },
    whole: [...wholes, ...(isLong ? [wholeOf(main, head)] : [])].join('\n'),
  }
}

/** Where no more than one text of an object was cut, that text, so that the lines of it are lines: the rest is in the head. */
function wholeOf(value: Json, head: Json): string {
  if (typeof value === 'string') return value
  const only = isJsonObject(value) && isJsonObject(head) ? onlyCut(value, head) : undefined
  return typeof only === 'string' ? only : JSON.stringify(value, null, 2)
}

/** The one member that is not whole in the head, unless there are several. */
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
 * Bytes are those of the value as JSON, but for the escapes in it: what a text says is what a model reads, and a file of many
 * quotes is no longer than it is. What is well below is not counted out: no character takes more than three.
 */
function fits(value: Json, maxBytes: number): boolean {
  return bytesOf(value, maxBytes, atMost) <= maxBytes || bytesOf(value, maxBytes, exactly) <= maxBytes
}

type TextBytes = (text: string) => number
const atMost: TextBytes = (text) => text.length * 3
const exactly: TextBytes = (text) => Buffer.byteLength(text)

const bytesOf = (value: Json, enough: number, textBytes: TextBytes): number =>
  typeof value === 'string' ? textBytes(value) : jsonBytes(value, enough, textBytes)

/** Counted until `enough` is passed. */
function jsonBytes(value: Json, enough: number, textBytes: TextBytes): number {
  if (typeof value === 'string') return textBytes(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  // A bracket, and for each member what comes behind it.
  let bytes = 1
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && bytes <= enough; index++) bytes += 1 + jsonBytes(value[index], enough - bytes, textBytes)
    return Math.max(bytes, 2)
  }
  // Not all of its members at once: of an object of very many, most are not looked at.
  const object = value as JsonObject
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue
    bytes += textBytes(key) + 4 + jsonBytes(object[key]!, enough - bytes, textBytes)
    if (bytes > enough) break
  }
  return Math.max(bytes, 2)
}

/** Bytes of JSON that may still be written. */
interface Room {
  left: number
}

/** undefined: not even the beginning of it fits. */
function headOf(value: Json, room: Room): Json | undefined {
  if (typeof value === 'string') return headOfString(value, room)
  if (typeof value !== 'object' || value === null) return take(room, JSON.stringify(value).length) ? value : undefined
  if (!take(room, 2)) return undefined
  return Array.isArray(value) ? headOfList(value, room) : headOfObject(value as JsonObject, room)
}

function headOfString(text: string, room: Room): string | undefined {
  if (!take(room, 2)) return undefined
  const head = headOfText(text, room.left)
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

/** Short members first: a count, or what was said on the side, is worth more than the end of a long text. Their order stays. */
function headOfObject(object: JsonObject, room: Room): Json {
  const heads = new Map<string, Json>()
  const keys = Object.keys(object)
  const sized = keys.map((key) => ({ key, value: object[key]!, bytes: jsonBytes(object[key]!, room.left, atMost) }))
  for (const { key, value } of sized.toSorted((one, other) => one.bytes - other.bytes)) {
    if (room.left < SMALLEST_MEMBER) break
    if (!take(room, Buffer.byteLength(key) + 4)) continue
    const fitting = headOf(value, room)
    if (fitting !== undefined) heads.set(key, fitting)
  }
  return Object.fromEntries(keys.flatMap((key) => heads.has(key) ? [[key, heads.get(key)!]] : []))
}

/** Its name, which may be empty, what stands around that, and one digit. */
const SMALLEST_MEMBER = 5

function take(room: Room, bytes: number): boolean {
  if (bytes > room.left) return false
  room.left -= bytes
  return true
}

function headOfContent(content: readonly Content[], maxBytes: number): readonly Content[] {
  const room = { left: maxBytes }
  let images = 0
  return content.flatMap((part): readonly Content[] => {
    if (part.type !== 'text') return ++images > CALL_LIMITS.shownImages ? [] : [part]
    if (room.left <= 0) return []
    const text = headOfText(part.text, room.left)
    room.left -= Buffer.byteLength(text)
    return [{ type: 'text', text }]
  })
}

/** At most so many bytes of UTF-8, never half a character. */
function headOfText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)))
  return text.slice(0, read)
}
