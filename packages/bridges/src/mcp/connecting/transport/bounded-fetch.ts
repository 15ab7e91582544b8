import type { FetchLike } from '@modelcontextprotocol/client'

/**
 * `fetch` whose answers are bounded: a whole answer, or of a stream of events what comes without a line in between. Whoever reads
 * beyond it gets an error.
 */
export function boundedFetch(maxBytes: number, request: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    const response = await request(url, init)
    if (response.body === null) return response
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    let bytes = 0
    const counted = response.body.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        const line = isStream ? chunk.lastIndexOf(LF) : -1
        bytes = line < 0 ? bytes + chunk.length : chunk.length - line
        if (bytes > maxBytes) throw new RangeError(`The server has sent more than ${maxBytes} bytes at once.`)
        controller.enqueue(chunk)
      },
    }))
    const { status, statusText, headers } = response
    return new Response(counted, { status, statusText, headers })
  }
}

const LF = 0x0a
