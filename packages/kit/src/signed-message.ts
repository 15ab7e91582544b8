import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The headers of a signed message. */
export interface Signature {
  readonly 'bulkhead-timestamp': string
  readonly 'bulkhead-nonce': string
  readonly 'bulkhead-signature': string
}

/** A message is refused when its time differs by more from ours. */
const WINDOW_MS = 5 * 60_000
const LEAST_SECRET_CHARS = 32
const MOST_NONCES = 10_000
const NONCE = /^[\w-]{16,64}$/

/** Throws an Error for a secret that is short enough to be guessed. */
export function requireSecret(secret: string): string {
  if (secret.length >= LEAST_SECRET_CHARS) return secret
  throw new Error(`The secret has ${secret.length} characters; at least ${LEAST_SECRET_CHARS} are needed.`)
}

/** For one purpose: what is signed for another one does not count. */
export const macOf = (secret: string, purpose: string, text: string): string =>
  createHmac('sha256', createHmac('sha256', secret).update(purpose).digest()).update(text).digest('base64url')

/** Takes the same time for every wrong value. */
export function isMac(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** `purpose`: the direction of the message, so that a request is no answer. */
export function signMessage(secret: string, purpose: string, body: string, now: number): Signature {
  const timestamp = String(Math.floor(now / 1000))
  const nonce = randomBytes(18).toString('base64url')
  return {
    'bulkhead-timestamp': timestamp, 'bulkhead-nonce': nonce,
    'bulkhead-signature': `v1=${macOf(secret, purpose, `${timestamp}.${nonce}.${body}`)}`,
  }
}

/** Checks signed messages, and refuses a second one with the same nonce. */
export class SignedMessages {
  readonly #secret: string
  readonly #purpose: string
  /** When each nonce may be forgotten. */
  readonly #seen = new Map<string, number>()

  constructor(secret: string, purpose: string) {
    this.#secret = requireSecret(secret)
    this.#purpose = purpose
  }

  /** Why the message does not count. undefined: it does, once. */
  fault(headers: { get(name: string): string | null }, body: string, now: number): string | undefined {
    const [timestamp, nonce, signature] = ['timestamp', 'nonce', 'signature'].map((name) => headers.get(`bulkhead-${name}`) ?? '')
    if (!/^\d{1,12}$/.test(timestamp!) || !NONCE.test(nonce!)) return 'it is not signed'
    const expected = `v1=${macOf(this.#secret, this.#purpose, `${timestamp}.${nonce}.${body}`)}`
    if (!isMac(signature!, expected)) return 'its signature is wrong'
    if (Math.abs(now - Number(timestamp) * 1000) > WINDOW_MS) return 'its time is not the present'
    for (const [old, until] of this.#seen) if (until < now) this.#seen.delete(old)
    if (this.#seen.has(nonce!)) return 'it was sent before'
    if (this.#seen.size >= MOST_NONCES) return 'too many messages came in a short time'
    this.#seen.set(nonce!, now + 2 * WINDOW_MS)
    return undefined
  }
}
