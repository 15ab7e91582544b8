import type { Net, NetRequest, NetResponse } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import type { CallBroker } from './capabilities.ts'

interface Head {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** null when the response has no body. */
  readonly bodyId: string | null
}

/** Network. A body crosses piece by piece as it is read, as base64. */
export function netAccess(callBroker: CallBroker): Net {
  return Object.freeze({
    async fetch(url, request) {
      const head = await callBroker('net.fetch', String(url), plainRequest(request)) as unknown as Head
      return response(head, body(head, callBroker))
    },
  } satisfies Net)
}

function plainRequest({ method, headers, body: given, redirect }: NetRequest = {}): JsonObject {
  return {
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    ...(redirect !== undefined && { redirect }),
    ...(given !== undefined && {
      body: typeof given === 'string'
        ? { kind: 'text', content: given }
        : { kind: 'bytes', content: Buffer.from(given).toString('base64') },
    }),
  }
}

function response({ url, status, headers }: Head, content: AsyncIterable<Uint8Array>): NetResponse {
  const bytes = async (): Promise<Uint8Array> => {
    const all: Uint8Array[] = []
    for await (const piece of content) all.push(piece)
    return new Uint8Array(Buffer.concat(all))
  }
  const text = async (): Promise<string> => new TextDecoder().decode(await bytes())
  return Object.freeze({
    url,
    status,
    headers: Object.freeze(headers),
    body: content,
    bytes,
    text,
    async json() {
      const written = await text()
      try {
        return JSON.parse(written) as Json
      } catch (cause) {
        const why = `The body of the response, of status ${status}, is not JSON.`
        throw new CodedError('ToolExecutionFailed', why, { cause })
      }
    },
  } satisfies NetResponse)
}

/** Can be read once. A reader that stops early releases the connection. */
function body({ bodyId }: Head, callBroker: CallBroker): AsyncIterable<Uint8Array> {
  let taken = false
  return Object.freeze({
    [Symbol.asyncIterator]() {
      if (taken) {
        throw new CodedError('InputInvalid', 'The body of a response can be read only once. Keep what you read.')
      }
      taken = true
      return pieces(bodyId, callBroker)
    },
  })
}

async function* pieces(bodyId: string | null, callBroker: CallBroker): AsyncGenerator<Uint8Array, void, undefined> {
  if (bodyId === null) return
  let open = true
  try {
    for (;;) {
      // After any reply but a piece, the body is closed on the host's side.
      open = false
      const piece = await callBroker('net.read', bodyId)
      if (typeof piece !== 'string') return
      open = true
      yield new Uint8Array(Buffer.from(piece, 'base64'))
    }
  } finally {
    if (open) await callBroker('net.read', bodyId, 'drop').catch(() => undefined)
  }
}
