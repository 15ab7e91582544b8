/** The one argument object that every side carries there and back. */
export type EchoArguments = { readonly text: string }

/** The bytes of `text`, the part of a call that is the caller's. */
export const PAYLOAD_BYTES = 100

const VARIETY = 1024
const payloads = Array.from({ length: VARIETY }, (_, i): EchoArguments => ({ text: `${i}:`.padEnd(PAYLOAD_BYTES, 'x') }))

/** Made beforehand, so that no side is billed for it; different from call to call, so that swapped answers are noticed. */
export function payload(i: number): EchoArguments {
  const found = payloads[i % VARIETY]
  if (found === undefined) throw new RangeError(`Call ${i} has no payload.`)
  return found
}
