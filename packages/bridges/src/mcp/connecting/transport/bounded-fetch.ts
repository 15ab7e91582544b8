import type { FetchLike } from '@modelcontextprotocol/client'

/**
 * `fetch` whose answers are bounded: a whole answer, or of a stream of events each event, which is kept until it is whole. Whoever
 * reads beyond it gets an error.
 */
export function boundedFetch(maxBytes: number, request: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    const response = await request(url, init)
    if (response.body === null) return response
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const open = isStream ? new OpenEvent() : { bytes: 0, add: (chunk: Uint8Array) => void (open.bytes += chunk.length) }
    const counted = response.body.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        open.add(chunk)
        if (open.bytes > maxBytes) throw new RangeError(`The server has sent more than ${maxBytes} bytes at once.`)
        controller.enqueue(chunk)
      },
    }))
    const { status, statusText, headers } = response
    return new Response(counted, { status, statusText, headers })
  }
}

const LF = 0x0a
const CR = 0x0d

/** How much of a stream has come since the last empty line, which is where an event ends. */
class OpenEvent {
  bytes = 0
  #isEmptyLine = true

  add(chunk: Uint8Array): void {
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end))
      if (this.#isEmptyLine) this.bytes = 0
      this.#isEmptyLine = true
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(part: Uint8Array): void {
    this.bytes += part.length
    this.#isEmptyLine &&= part.every((byte) => byte === CR)
  }
}
