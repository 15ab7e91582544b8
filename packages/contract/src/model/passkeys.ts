import { isJsonObject } from '@bulkhead/kit/json'

/** Where a passkey can answer a question. Texts are base64url. */
export interface PasskeyChoice {
  readonly id: string
  /** The name of the host that it is for, without a port. */
  readonly rpId: string
}

/** What a question has whose rule demands a passkey. */
export interface PasskeyDemand {
  /** Of this question. One signature with it counts. */
  readonly nonce: string
  /** Those that the host knew when it asked. */
  readonly credentials: readonly PasskeyChoice[]
}

/** What a browser made with a passkey. Each is base64url. */
export interface PasskeyAssertion {
  /** The id of the passkey. */
  readonly credential: string
  readonly authenticatorData: string
  readonly clientDataJSON: string
  readonly signature: string
  /** The page that showed the question, if another process served it. */
  readonly page?: SealedPage
}

export interface SealedPage {
  /** Such as `http://localhost:8770`. */
  readonly origin: string
  /** Of a process that can read the secret of the host. */
  readonly seal: string
}

/** An answer with a passkey that counted, as the audit has it. */
export interface PasskeyProof extends Omit<PasskeyAssertion, 'page'> {
  readonly nonce: string
  /** The digest of the question: the call with its arguments, and why it asks. */
  readonly question: string
  /** The digest of the answer, with changed arguments. */
  readonly answer: string
}

/** Reads what `PublicKeyCredential.toJSON()` returns, as a page sends it. */
export function readAssertion(value: unknown): PasskeyAssertion | undefined {
  const { id, response } = isJsonObject(value) ? value : {}
  const { authenticatorData, clientDataJSON, signature } = isJsonObject(response) ? response : {}
  return wholeAssertion({ credential: id, authenticatorData, clientDataJSON, signature })
}

const MOST_CHARS = 16_384
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= MOST_CHARS

/** Reads the stored form. undefined for anything else. */
export function wholeAssertion(value: unknown): PasskeyAssertion | undefined {
  const { credential, authenticatorData, clientDataJSON, signature, page } = isJsonObject(value) ? value : {}
  if (!isText(credential) || !isText(authenticatorData) || !isText(clientDataJSON) || !isText(signature)) return undefined
  const { origin, seal } = isJsonObject(page) ? page : {}
  return {
    credential, authenticatorData, clientDataJSON, signature, ...(isText(origin) && isText(seal) && { page: { origin, seal } }),
  }
}
