import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/strict-json.ts'
import { unverified, verified, type Verification } from './verification.ts'

/** SLSA build provenance. */
export const PROVENANCE_V1 = 'https://slsa.dev/provenance/v1'

const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
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
  if (payloadType !== PAYLOAD_TYPE) return wrong(`has a payload of the type "${visibleText(payloadType)}", not ${PAYLOAD_TYPE}`)
  const parsed = parseStrictJson(payload)
  if (!parsed.ok) return wrong(`holds a statement that ${parsed.message}`)
  if (!isJsonObject(parsed.value) || !STATEMENT_TYPES.has(parsed.value['_type'])) return wrong('holds no in-toto statement')
  const { subject, predicateType, predicate = {} } = parsed.value
  if (!Array.isArray(subject) || subject.length !== 1) return wrong('holds a statement that is not about exactly one subject')
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
