import { hash, randomBytes } from 'node:crypto'
import {
  BulkheadError, type ApprovalRequest, type InteractionRequest, type InteractionResponse, type PasskeyAssertion,
  type PasskeyChoice, type PasskeyDemand, type PasskeyProof, type PasskeyRing,
} from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json } from '@bulkhead/kit/json'
import { checkPasskey, mayUsePasskeysOf, passkeyChallenge, type SignedParts } from '@bulkhead/kit/webauthn'
import { questionDigest } from './stored-question.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** A paused call waits no longer. */
const NONCE_MS = 90 * DAY_MS
const NONCE = /^(\d{13})-[\w-]{24}$/

/** A response whose passkey, if one is demanded, was checked. */
export type ProvenResponse = InteractionResponse & { readonly proof?: PasskeyProof }

/** A demand of a new question. No ring: no passkey is known. */
export function newDemand(ring: PasskeyRing | undefined, now: number): PasskeyDemand {
  return { nonce: `${now}-${randomBytes(18).toString('base64url')}`, credentials: choicesIn(ring) }
}

/** Those that cannot be read are missed when an answer is checked. */
function choicesIn(ring: PasskeyRing | undefined): PasskeyDemand['credentials'] {
  try {
    return (ring?.keys() ?? []).map(({ id, rpId }) => ({ id, rpId }))
  } catch {
    return []
  }
}

const approvalOf = (request: InteractionRequest): ApprovalRequest | undefined =>
  request.kind === 'Approve' || request.kind === 'grantStageTool' ? request.approval : undefined

/** The demand on this response: one that allows nothing needs no passkey. */
export function demandOn(request: InteractionRequest, response: InteractionResponse): PasskeyDemand | undefined {
  const demand = approvalOf(request)?.passkey
  if (demand === undefined || response.status !== 'accepted') return undefined
  const { value } = response
  const decision = isJsonObject(value) ? value['decision'] : value
  return decision === false || decision === 'reject' || decision === 'later' ? undefined : demand
}

/** Throws InputInvalid for a response that lacks a passkey. Checks no signature. */
export function requirePasskey(request: InteractionRequest, response: InteractionResponse): void {
  if (response.status === 'accepted' && !response.passkey && demandOn(request, response)) throw refused(NEEDED)
}

const NEEDED = 'A rule demands a passkey for this call, and no other answer allows it. Answer on the page of '
  + '"bulkhead inspect --decide", or with a link of "bulkhead waiting serve". A denial needs no passkey.'

/** Why a call under such a rule did not run, for the model. */
export const WITHOUT_PASSKEY = 'a rule demands a passkey, and the answer had none'

/** What the answer to a question has to sign. undefined if the question demands no passkey. */
export function signedParts(request: InteractionRequest, value: Json): SignedParts | undefined {
  const approval = approvalOf(request)
  if (!approval?.passkey) return undefined
  return {
    callId: approval.callId, question: questionDigest(request), answer: answerDigest(value), nonce: approval.passkey.nonce,
  }
}

/** Who answers and why is not part of the answer: it changes nothing. */
function answerDigest(value: Json): string {
  if (!isJsonObject(value)) return hash('sha256', canonicalJson(value))
  const { by: _by, reason: _reason, ...rest } = value
  return hash('sha256', canonicalJson(rest))
}

/** What a page asks a browser for. */
export interface PasskeyRequest {
  /** Base64url. */
  readonly challenge: string
  readonly credentials: readonly PasskeyChoice[]
}

/** For this answer. A passkey may be newer than the question. undefined if the question demands none. */
export function passkeyRequest(
  request: InteractionRequest, value: Json, ring: PasskeyRing | undefined,
): PasskeyRequest | undefined {
  const parts = signedParts(request, value)
  if (parts === undefined) return undefined
  const known = [...approvalOf(request)!.passkey!.credentials, ...choicesIn(ring)]
  return { challenge: passkeyChallenge(parts), credentials: [...new Map(known.map((one) => [one.id, one])).values()] }
}

export interface PasskeyTerms {
  readonly ring: PasskeyRing | undefined
  readonly now: number
  /** The origin of the page of this process that showed the question. */
  readonly page?: string | undefined
}

/**
 * The one place where a passkey counts. Returns the response with its proof, which uses up the nonce. Throws InputInvalid
 * or StoreUnavailable for an answer that does not allow the call, and then nothing was used.
 */
export function provenResponse(
  request: InteractionRequest, response: InteractionResponse, terms: PasskeyTerms,
): ProvenResponse {
  const demand = demandOn(request, response)
  if (demand === undefined || response.status !== 'accepted') return withoutPasskey(response)
  requirePasskey(request, response)
  const { value, passkey } = response as { readonly value: Json; readonly passkey: PasskeyAssertion }
  const parts = signedParts(request, value)!
  const { counter, name } = checkedSignature(parts, passkey, terms)
  const { credential, authenticatorData, clientDataJSON, signature } = passkey
  const until = issuedAt(demand.nonce) + NONCE_MS
  if (terms.now > until) throw doesNotCount('the question is too old')
  const fault = terms.ring!.use({ credential, counter, nonce: demand.nonce, until })
  if (fault !== undefined) throw doesNotCount(fault)
  const { question, answer, nonce } = parts
  return {
    status: 'accepted', value: signedBy(value, name),
    proof: { credential, authenticatorData, clientDataJSON, signature, nonce, question, answer },
  }
}

/** Checks everything but whether it was used before. Throws InputInvalid or StoreUnavailable. */
export function checkedSignature(
  parts: SignedParts, passkey: PasskeyAssertion, { ring, page }: Omit<PasskeyTerms, 'now'>,
): { readonly counter: number; readonly name: string } {
  const key = ring?.keys().find(({ id }) => id === passkey.credential)
  if (!key) throw doesNotCount('it is not one of the passkeys of this host. "bulkhead passkey list" shows them')
  const { page: sealed } = passkey
  const shown = page ?? (sealed && ring!.isSealed(parts.nonce, sealed) ? sealed.origin : undefined)
  const isOrigin = (origin: string): boolean =>
    mayUsePasskeysOf(origin, key.rpId) && (origin === shown || key.origins.includes(origin))
  const checked = checkPasskey(passkey, key, { challenge: passkeyChallenge(parts), isOrigin })
  if ('fault' in checked) throw doesNotCount(checked.fault)
  return { counter: checked.counter, name: key.name }
}

/** A nonce of another form is as old as can be. */
const issuedAt = (nonce: string): number => Number(NONCE.exec(nonce)?.[1] ?? -Infinity)

const withoutPasskey = (response: InteractionResponse): ProvenResponse =>
  response.status === 'accepted' ? { status: 'accepted', value: response.value } : response

function signedBy(value: Json, name: string): Json {
  if (!isJsonObject(value)) return value
  const { by } = value
  return { ...value, by: typeof by === 'string' ? `${by} with the passkey ${name}` : `the passkey ${name}` }
}

const doesNotCount = (why: string): BulkheadError => refused(`The passkey does not count: ${why}.`)
const refused = (message: string): BulkheadError => new BulkheadError('InputInvalid', message, { data: { reason: 'passkey' } })
