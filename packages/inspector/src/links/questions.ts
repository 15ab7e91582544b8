import type { InteractionRequest, InteractionResponse } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { AskedPasskey } from '../passkeys/demand.ts'

/** A question, as `openQuestions` of `@bulkhead/host` lists it. */
export interface LinkedQuestion {
  /** The digest of what is asked. */
  readonly id: string
  readonly round: number
  readonly since: number
  readonly source: string
  readonly request: InteractionRequest
  readonly sessionId?: string
  readonly state: 'waits' | 'answered' | 'ended'
  readonly paused?: true
}

/** Where questions of all hosts are answered. */
export interface LinkedQuestions {
  list(): Promise<readonly LinkedQuestion[]>
  find(id: string): Promise<LinkedQuestion | undefined>
  /** Rejects with NotFound, InteractionAlreadyAnswered, InputInvalid or StoreUnavailable. */
  answer(
    id: string, response: InteractionResponse,
    from: { readonly by: string; readonly way: string; readonly round: number; readonly origin?: string },
  ): Promise<string>
  /** What the browser is asked for, if the question demands a passkey. */
  passkey(id: string, value: Json): Promise<AskedPasskey | undefined>
}
