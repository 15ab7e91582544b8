import type { InteractionRequest, InteractionResponse } from '@bulkhead/contract'

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
    from: { readonly by: string; readonly way: string; readonly round: number },
  ): Promise<string>
}
