import type { Content, Json, JsonObject, OutcomeBody } from '@bulkhead/contract'

/** The body as far as it fits, and the whole as text when something was left out. */
export interface Truncated {
  readonly body: OutcomeBody
  readonly whole: string | undefined
}

/**
 * The head of a result: texts are cut between characters, lists and objects after their last whole member, so what is
 * left is still of the tool's form. Images are left alone: half of one is none.
 */
export function truncate(body: OutcomeBody, maxBytes: number): Truncated {
  const texts = body.content?.filter((part) => part.type === 'text').map((part) => part.text) ?? []
  const main: Json = body.type === 'output' ? body.data : body.error_text
  if (fits(main, maxBytes) && fits(texts, maxBytes)) return { body, whole: undefined }
  const content = body.content === undefined ? {} : { content: headOfContent(body.content, maxBytes) }
  return {
    body: body.type === 'output'
      ? { ...body, ...content, data: headOf(main, { left: maxBytes }) }
      : { ...body, ...content, error_text: headOfText(body.error_text, maxBytes) },
    whole: typeof main === 'string' ? main : JSON.stringify(main, null, 2),
  }
}

/** Quick for the common case: small results are counted, only large ones are written out. */
function fits(value: Json, maxBytes: number): boolean {
  return upperBound(value, maxBytes) <= maxBytes || Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value)) <= maxBytes
}

/** No less than the bytes of the value as JSON, counted until `enough` is passed. */
function upperBound(value: Json, enough: number): number {
  // An escaped character takes six bytes, any other at most three.
  if (typeof value === 'string') return value.length * 6 + 2
  if (typeof value !== 'object' || value === null) return 24
  let bytes = 2
  for (const key of Object.keys(value)) {
    bytes += (Array.isArray(value) ? 1 : key.length * 6 + 4) + upperBound((value as JsonObject)[key]!, enough - bytes)
    if (bytes > enough) break
  }
  return bytes
}

interface Room {
  left: number
}

function headOf(value: Json, room: Room): Json {
  if (typeof value === 'string') {
    const head = headOfText(value, room.left)
    room.left -= Buffer.byteLength(head)
    return head
  }
  if (typeof value !== 'object' || value === null) {
    room.left -= 8
    return value
  }
  return Array.isArray(value) ? headOfList(value, room) : headOfObject(value as JsonObject, room)
}

function headOfList(list: readonly Json[], room: Room): Json {
  const head: Json[] = []
  for (const item of list) {
    if (room.left <= 0) break
    head.push(headOf(item, room))
  }
  return head
}

/** Every member stays as long as it is short: a count or a flag behind a long text is worth more than the text's end. */
function headOfObject(object: JsonObject, room: Room): Json {
  const entries = Object.entries(object)
  const small = entries.filter(([, value]) => typeof value !== 'object' && typeof value !== 'string')
  for (const [key] of small) room.left -= key.length + 8
  return Object.fromEntries(entries.flatMap(([key, value]) => {
    if (typeof value !== 'object' && typeof value !== 'string') return [[key, value]]
    room.left -= key.length + 4
    return room.left <= 0 ? [] : [[key, headOf(value, room)]]
  }))
}

function headOfContent(content: readonly Content[], maxBytes: number): readonly Content[] {
  const room = { left: maxBytes }
  return content.flatMap((part): readonly Content[] => {
    if (part.type !== 'text') return [part]
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
