import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'

/** The step at which a verification failed. */
export type VerificationStep =
  | 'form' | 'trustRoot' | 'time' | 'certificate' | 'key' | 'log' | 'signature' | 'statement' | 'subject' | 'signer'
  | 'result'

export interface VerificationFault {
  readonly step: VerificationStep
  /** Continues a sentence that starts with the name of the verified file: "does not …", "is …". */
  readonly message: string
}

/** Contract: a verifier never throws. Each failure is a fault with its step. */
export type Verification<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: VerificationFault }

export const verified = <T>(value: T): Verification<T> => ({ ok: true, value })
export const unverified = (step: VerificationStep, message: string): Verification<never> =>
  ({ ok: false, fault: { step, message } })

const RESIGN = 'Sign bulkhead.integrity.json again, and save the bundle next to it as the signing tool wrote it.'
const OTHER_AUTHORITY = 'Check that it was signed with the sigstore instance of the trust root, '
  + 'and that the root is not too old.'
const OTHER_BYTES = 'The package is not the one that was signed. Get it again from its publisher. '
  + 'If it is your own and has changed, delete bulkhead.sigstore.json, pack, sign bulkhead.integrity.json, '
  + 'and pack again.'

/** The cure for each step. */
export const CURES: Readonly<Record<VerificationStep, string>> = {
  form: RESIGN,
  trustRoot: 'Correct the configured trust root, or remove it to use the public one.',
  time: OTHER_AUTHORITY,
  certificate: OTHER_AUTHORITY,
  key: 'Sign with a certificate. A key alone does not identify the signer.',
  log: OTHER_AUTHORITY,
  signature: OTHER_BYTES,
  statement: RESIGN,
  subject: OTHER_BYTES,
  signer: 'Check who published the package. Pin the new identity only if you trust it.',
  result: 'Ask the publisher to correct the failures that `bulkhead conformance` shows.',
}

/** SLSA build provenance. */
export const PROVENANCE_V1 = 'https://slsa.dev/provenance/v1'

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPES: ReadonlySet<Json | undefined> = new Set([
  'https://in-toto.io/Statement/v0.1', 'https://in-toto.io/Statement/v1',
])

/** An in-toto statement about exactly one subject. */
export interface Statement {
  readonly subjectName: string
  readonly digests: ReadonlyMap<string, Json>
  readonly predicateType: string
  readonly predicate: JsonObject
}

/** Parses the payload of a signed envelope, which the signature verifier does not read. */
export function readStatement(payloadType: string, payload: Uint8Array): Verification<Statement> {
  if (payloadType !== PAYLOAD_TYPE) {
    return wrong(`has a payload of the type "${visibleText(payloadType)}", not ${PAYLOAD_TYPE}`)
  }
  const parsed = parseStrictJson(payload)
  if (!parsed.ok) return wrong(`holds a statement that ${parsed.message}`)
  if (!isJsonObject(parsed.value) || !STATEMENT_TYPES.has(parsed.value['_type'])) {
    return wrong('holds no in-toto statement')
  }
  const { subject, predicateType, predicate = {} } = parsed.value
  if (!Array.isArray(subject) || subject.length !== 1) {
    return wrong('holds a statement that is not about exactly one subject')
  }
  const [about = null] = subject as readonly Json[]
  const { name = '', digest = null } = isJsonObject(about) ? about : {}
  if (!isJsonObject(digest)) return wrong('holds a statement whose subject has no digest')
  if (typeof name !== 'string' || typeof predicateType !== 'string' || !isJsonObject(predicate)) {
    return wrong('holds a statement without a name, a type or a predicate')
  }
  return verified({ subjectName: name, digests: new Map(Object.entries(digest)), predicateType, predicate })
}

/** Whether the statement is about these bytes: at least one digest is known here, and no known digest differs. */
export function isAbout({ digests }: Statement, known: ReadonlyMap<string, string>): boolean {
  const common = [...known].filter(([algorithm]) => digests.has(algorithm))
  return common.length > 0 && common.every(([algorithm, digest]) => digests.get(algorithm) === digest)
}

const wrong = (message: string): Verification<never> => unverified('statement', message)
