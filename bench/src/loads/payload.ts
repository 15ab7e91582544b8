/** The arguments that every side sends and returns. */
export type EchoArguments = { readonly text: string }

/** The bytes of `text`. */
export const PAYLOAD_BYTES = 100

/** The size of a typical large result, such as a file or a page. */
export const LARGE_PAYLOAD_BYTES = 100_000

/** The arguments of the call with this number. */
export type Payload = (i: number) => EchoArguments

/** Created in advance, outside the measured time. Calls differ, so that mixed up answers are detected. */
function payloadsOf(bytes: number, variety: number): Payload {
  const payloads = Array.from({ length: variety }, (_, i): EchoArguments => ({ text: `${i}:`.padEnd(bytes, 'x') }))
  return (i) => {
    const found = payloads[i % variety]
    if (found === undefined) throw new RangeError(`Call ${i} has no payload.`)
    return found
  }
}

export const payload = payloadsOf(PAYLOAD_BYTES, 1024)
/** Fewer, to save memory, but more than are ever in flight. */
export const largePayload = payloadsOf(LARGE_PAYLOAD_BYTES, 128)
