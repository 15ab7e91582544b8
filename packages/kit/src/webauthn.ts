import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import { canonicalJson, isJsonObject, parseJson, type JsonObject } from './json.ts'

/** The public half of a passkey. Texts are base64url without padding. */
export interface PublicPasskey {
  /** The id of the credential. */
  readonly id: string
  /** SubjectPublicKeyInfo: ES256, EdDSA or RS256. */
  readonly publicKey: string
  /** The name of the host that it is for, without a port. */
  readonly rpId: string
}

/** What a browser makes with a passkey. Each is base64url without padding. */
export interface PasskeySignature {
  /** The id of the credential. */
  readonly credential: string
  readonly authenticatorData: string
  readonly clientDataJSON: string
  readonly signature: string
}

export interface ExpectedSignature {
  /** Base64url of the bytes that were to be signed. */
  readonly challenge: string
  /** Whether the page with this origin, such as `http://localhost:8770`, may ask for it. */
  readonly isOrigin: (origin: string) => boolean
}

/** What the signature of an answer stands for: digests of the question and of the answer, and the nonce of the question. */
export interface SignedParts {
  readonly callId: string
  readonly question: string
  readonly answer: string
  readonly nonce: string
}

/** What a browser signs for them. Base64url. */
export const passkeyChallenge = ({ callId, question, answer, nonce }: SignedParts): string =>
  hash('sha256', canonicalJson(['bulkhead passkey 1', callId, question, answer, nonce]), 'base64url')

/** A counter of 0: the authenticator does not count. */
export type SignatureCheck = { readonly counter: number } | { readonly fault: string }

const PRESENT = 0x01
const VERIFIED = 0x04
const MAY_BE_COPIED = 0x08
const IS_COPIED = 0x10
const HAS_CREDENTIAL = 0x40
const HAS_EXTENSIONS = 0x80
const HEAD_BYTES = 37
const LEAST_RSA_BITS = 2_048

/** Checks a signature with all that it signs. Its counter is checked by the one who keeps the last one. */
export function checkPasskey(given: PasskeySignature, key: PublicPasskey, expected: ExpectedSignature): SignatureCheck {
  const [data, client, signature] = [given.authenticatorData, given.clientDataJSON, given.signature].map(bytesOf)
  if (!data || !client || !signature) return { fault: 'it is not base64url' }
  if (given.credential !== key.id) return { fault: 'it is of another passkey' }
  const read = readAuthenticatorData(data, key.rpId)
  if (typeof read === 'string') return { fault: read }
  if (read.flags & HAS_CREDENTIAL) return { fault: 'it is a registration' }
  const clientFault = faultOfClient(client, 'webauthn.get', expected)
  if (clientFault !== undefined) return { fault: clientFault }
  const publicKey = readPublicKey(key.publicKey)
  if (publicKey === undefined) return { fault: 'its public key cannot be used' }
  const signed = Buffer.concat([data, hash('sha256', client, 'buffer')])
  return isSignatureOf(publicKey, signed, signature) ? { counter: read.counter } : { fault: 'its signature is wrong' }
}

/** What a browser makes when it creates a passkey: `getPublicKey()`, `getAuthenticatorData()` and the client data. */
export interface PasskeyRegistration extends Omit<PasskeySignature, 'signature'> {
  readonly publicKey: string
}

/**
 * Checks a new passkey without an attestation: the page that the person opened made it. Returns its counter, or what is
 * wrong with it.
 */
export function checkRegistration(
  given: PasskeyRegistration, rpId: string, expected: ExpectedSignature,
): SignatureCheck {
  const [data, client, id] = [given.authenticatorData, given.clientDataJSON, given.credential].map(bytesOf)
  if (!data || !client || !id) return { fault: 'it is not base64url' }
  const read = readAuthenticatorData(data, rpId)
  if (typeof read === 'string') return { fault: read }
  // Behind the head: 16 bytes of the model, the length of the id, the id, and the key.
  const start = HEAD_BYTES + 18
  if ((read.flags & HAS_CREDENTIAL) === 0 || data.length <= start) return { fault: 'it is no registration' }
  const own = data.subarray(start, start + data.readUInt16BE(start - 2))
  if (!own.equals(id)) return { fault: 'it is of another passkey' }
  const clientFault = faultOfClient(client, 'webauthn.create', expected)
  if (clientFault !== undefined) return { fault: clientFault }
  return readPublicKey(given.publicKey) === undefined
    ? { fault: 'its key is not ES256, EdDSA or RS256 of 2048 bits' } : { counter: read.counter }
}

/** The names of hosts that a page may use passkeys of: its own and those above. None for an address. */
export const mayUsePasskeysOf = (origin: string, rpId: string): boolean => {
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin || rpId === '') return false
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && url.hostname === 'localhost')) return false
  return url.hostname === rpId || (rpId.includes('.') && url.hostname.endsWith(`.${rpId}`))
}

function readAuthenticatorData(
  data: Buffer, rpId: string,
): { readonly flags: number; readonly counter: number } | string {
  if (data.length < HEAD_BYTES) return 'its data is too short'
  const flags = data[32]!
  if (!data.subarray(0, 32).equals(hash('sha256', rpId, 'buffer'))) return `it is not for ${rpId}`
  if ((flags & PRESENT) === 0) return 'no person was present'
  if ((flags & VERIFIED) === 0) return 'the person was not verified by a PIN, a finger or a face'
  if (flags & IS_COPIED && !(flags & MAY_BE_COPIED)) return 'its flags contradict each other'
  const isHeadOnly = (flags & (HAS_CREDENTIAL | HAS_EXTENSIONS)) === 0
  if (isHeadOnly && data.length !== HEAD_BYTES) return 'its data is too long'
  return { flags, counter: data.readUInt32BE(33) }
}

function faultOfClient(bytes: Buffer, type: string, { challenge, isOrigin }: ExpectedSignature): string | undefined {
  const client = objectIn(bytes)
  if (client === undefined) return 'what the browser says about it is no JSON object'
  if (client['type'] !== type) return `it is not ${type}`
  if (client['challenge'] !== challenge) return 'it is for another call, another answer or another question'
  const { origin } = client
  if (typeof origin !== 'string' || !isOrigin(origin)) {
    return `it was made on another page${typeof origin === 'string' ? ` (${origin.slice(0, 200)})` : ''}`
  }
  return client['crossOrigin'] === true || client['topOrigin'] !== undefined ? 'it was made in a frame' : undefined
}

function objectIn(bytes: Buffer): JsonObject | undefined {
  try {
    const parsed = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined
  } catch {
    return undefined
  }
}

const MOST_CHARS = 16_384

/** undefined for anything but base64url without padding. */
function bytesOf(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || text.length > MOST_CHARS || !/^[\w-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** undefined for a key of another kind. */
function readPublicKey(text: string): KeyObject | undefined {
  const der = bytesOf(text)
  if (der === undefined) return undefined
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
    const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key
    const isKnown = type === 'ed25519' || (type === 'ec' && details.namedCurve === 'prime256v1')
      || (type === 'rsa' && (details.modulusLength ?? 0) >= LEAST_RSA_BITS)
    return isKnown ? key : undefined
  } catch {
    return undefined
  }
}

function isSignatureOf(key: KeyObject, signed: Buffer, signature: Buffer): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', signed, key, signature)
  } catch {
    return false
  }
}
