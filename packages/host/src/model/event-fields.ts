import type { OutcomeOrigin, Principal } from '@bulkhead/contract'

/** A session, as events name it. */
export interface NamedSession {
  readonly id: string
  readonly principal?: Principal | undefined
}

export const sessionFields = (
  { id: sessionId, principal }: NamedSession,
): { readonly sessionId: string; readonly principal?: string } =>
  principal === undefined ? { sessionId } : { sessionId, principal: principal.id }

interface NamedCall {
  readonly id: string
  readonly name: string
  readonly session: NamedSession
  /** Absent if there is none of that name. */
  readonly tool?: { readonly origin: OutcomeOrigin } | undefined
}

/** The fields of every event of a call. */
export const eventFields = ({ session, id, name, tool }: NamedCall) =>
  ({ ...sessionFields(session), callId: id, tool: name, origin: tool?.origin ?? null })
