import type { NetResponse } from '@bulkhead/contract'
import { parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** Of the body of an answer. */
const MOST_BODY_BYTES = 64 * 1024

const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/
const TEXT_TYPE = /^text\/|^application\/(?:[\w.-]+\+|x-)?(?:json|xml|yaml|javascript|ndjson|toml|x-www-form-urlencoded)$/

/**
 * What a server has answered, as a result in our own form. Any status is an answer: what it means is for whoever called to say.
 * The long part comes last, since what is cut is cut from the end.
 */
export async function answerOf(method: string, response: NetResponse): Promise<JsonObject> {
  const { url, status, headers } = response
  const [mediaType, charset] = contentType(headers['content-type'] ?? '')
  const { bytes, isCut } = await readHead(response)
  const text = TEXT_TYPE.test(mediaType) || !bytes.includes(0) ? decoded(bytes, charset, isCut) : undefined
  const parsed = text !== undefined && !isCut && JSON_TYPE.test(mediaType) ? parseJson(text) : undefined
  const body: Json = parsed?.ok ? parsed.value : text ?? null
  const shown = text ?? `[${isCut ? 'more than ' : ''}${bytes.length} bytes that are no text]`
  const note = isCut ? `\n[The answer has more than ${MOST_BODY_BYTES} bytes and is cut here.]` : ''
  return {
    type: 'output',
    data: { status, ...(mediaType !== '' && { content_type: mediaType }), ...(isCut && { truncated: true }), body },
    content: [{ type: 'text', text: `${method} ${url} → ${status}\n\n${shown}${note}` }],
    details: { status, method, url },
  }
}

function contentType(header: string): readonly [mediaType: string, charset: string] {
  const [type = '', ...parameters] = header.split(';')
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([\w.:-]+)"?\s*$/i.exec(one)?.[1]).find((one) => one !== undefined)
  const mediaType = type.trim().toLowerCase()
  return [MEDIA_TYPE.test(mediaType) ? mediaType : '', charset ?? 'utf-8']
}

/** As much of a body as is kept. What comes behind it is left with its sender. */
async function readHead({ body }: NetResponse): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const pieces: Uint8Array[] = []
  let count = 0
  for await (const piece of body) {
    pieces.push(piece)
    count += piece.length
    if (count > MOST_BODY_BYTES) return { bytes: Buffer.concat(pieces).subarray(0, MOST_BODY_BYTES), isCut: true }
  }
  return { bytes: Buffer.concat(pieces), isCut: false }
}

/** Half a character at a cut is left out. */
function decoded(bytes: Buffer, charset: string, isCut: boolean): string {
  try {
    return new TextDecoder(charset).decode(bytes, { stream: isCut })
  } catch {
    return new TextDecoder().decode(bytes, { stream: isCut })
  }
}
