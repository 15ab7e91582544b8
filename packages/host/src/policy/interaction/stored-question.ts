import { hash } from 'node:crypto'
import type { InteractionEnvelope, InteractionRequest, InteractionResponse, StoredRecord } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json } from '@bulkhead/kit/json'

/** How a person answered: a word for people, such as `link` or `webhook`. */
export interface StoredAnswer {
  readonly response: InteractionResponse
  readonly by: string
  readonly way: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** What the asking host said about it. Absent until it has seen it. */
  readonly taken?: boolean
}

/** A question of a host, as the store has it while it waits and for a day after that. */
export interface StoredQuestion {
  /** The digest of what is asked. */
  readonly id: string
  /** Increases each time that the same is asked again: an answer is for one round. */
  readonly round: number
  /** The host that asks. */
  readonly host: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly source: string
  readonly request: InteractionRequest
  readonly callId?: string
  readonly sessionId?: string
  readonly principal?: string
  readonly answer?: StoredAnswer
  /** Why the last answer did not count. */
  readonly refused?: string
  /** When it ended. Absent while it waits. */
  readonly endedAt?: number
}

/** Passwords and codes are never stored, and trust is decided before a session. */
export const isShared = ({ kind }: InteractionRequest): boolean =>
  kind !== 'Auth.Password' && kind !== 'Auth.DeviceCode' && kind !== 'trustProject'

const approvalOf = (request: InteractionRequest) => 'approval' in request ? request.approval : undefined

/**
 * What a person decides about, as one digest: the call with its arguments, and why it asks. The diff and the words about
 * folders are read when the question is asked and are not part of it.
 */
export function questionDigest(request: InteractionRequest, asked: { readonly correlationId?: string } = {}): string {
  const approval = approvalOf(request)
  if (approval === undefined) return digestOf([request as unknown as Json, asked.correlationId ?? null])
  const { sessionId, callId, tool, origin, calledBy = [], approvalKey, argumentsText, touches, mayTouch, reasons } = approval
  return digestOf([
    request.kind, sessionId, callId, tool, origin, calledBy, approvalKey, argumentsText, touches, mayTouch, reasons,
  ])
}

const digestOf = (parts: Json): string => hash('sha256', canonicalJson(parts)).slice(0, 40)

export function storedQuestion(
  { correlationId, request, source, callId, sessionId, principal, issuedAt }: InteractionEnvelope, host: string,
  before: StoredQuestion | undefined,
): StoredQuestion {
  return {
    id: questionDigest(request, { correlationId }), round: (before?.round ?? 0) + 1, host, since: Date.parse(issuedAt),
    source, request, ...(callId !== undefined && { callId }), ...(principal && { principal: principal.id }),
    // A sub-agent asks the person of its parent.
    ...(sessionId !== undefined && { sessionId: approvalOf(request)?.sessionId ?? sessionId }),
  }
}

/** undefined for a record of another form. */
export function readStored(value: Json | undefined): StoredQuestion | undefined {
  if (!isJsonObject(value)) return undefined
  const { id, round, host, since, source, request } = value
  const isRecord = typeof id === 'string' && typeof round === 'number' && typeof host === 'string'
    && typeof since === 'number' && typeof source === 'string' && isJsonObject(request)
  return isRecord ? value as unknown as StoredQuestion : undefined
}

const KEPT_MS = 24 * 60 * 60 * 1000

/** It ended a day ago. */
export const isOld = ({ value }: StoredRecord, now: number): boolean => {
  const { endedAt } = readStored(value) ?? {}
  return endedAt !== undefined && now - endedAt > KEPT_MS
}
