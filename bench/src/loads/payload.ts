/** The one argument object that every side carries there and back. */
export type EchoArguments = { readonly text: string }

/** The bytes of `text`, the part of a call that is the caller's. */
export const PAYLOAD_BYTES = 100

/** As much as a tool may be expected to give back at once: a file, a page. */
export const LARGE_PAYLOAD_BYTES = 100_000

/** What the call of that number carries. */
export type Payload = (i: number) => EchoArguments

/** Made beforehand, so that no side is billed for it; different from call to call, so that swapped answers are noticed. */
function payloadsOf(bytes: number, variety: number): Payload {
  const payloads = Array.from({ length: variety }, (_, i): EchoArguments => ({ text: `${i}:`.padEnd(bytes, 'x') }))
  return (i) => {
    const found = payloads[i % variety]
    if (found === undefined) throw new RangeError(`Call ${i} has no payload.`)
    return found
  }
}

export const payload = payloadsOf(PAYLOAD_BYTES, 1024)
/** Fewer, for all of them are kept; more than are ever under way. */
export const largePayload = payloadsOf(LARGE_PAYLOAD_BYTES, 128)
