import { randomUUID } from 'node:crypto'
import type { InteractionRequest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { SessionKeeper } from '../../model/session-keeper.ts'
import type { PausableCall, PausedCalls } from './paused-calls.ts'
import type { AskedQuestion } from './question-log.ts'

/** A call that a person is asked about, as it is stored meanwhile. */
export interface AskableCall extends PausableCall {
  readonly parent: object | undefined
  readonly scope: PausableCall['scope'] & { readonly reverts?: object | undefined }
  readonly session: PausableCall['session'] & {
    readonly asking: PausedCalls | undefined
    readonly interactions: { readonly asksPeople: boolean }
    readonly kept: SessionKeeper | undefined
  }
}

/**
 * Keeps a call in the store while a person is asked, so that its question stays open if this host dies. A store that
 * fails then costs the call nothing: the person is asked all the same.
 */
export class AskedCall {
  readonly id = randomUUID()
  readonly #call: AskableCall
  readonly #paused: PausedCalls
  #stored: Promise<boolean> | undefined

  private constructor(call: AskableCall, paused: PausedCalls) {
    this.#call = call
    this.#paused = paused
  }

  /**
   * undefined if no host could go on with it: a call of a tool has a caller that would be gone. One that has been
   * resumed is stored already, with the answers that it had.
   */
  static of(call: AskableCall): AskedCall | undefined {
    const { parent, scope, session: { asking, interactions } } = call
    const isAlone = parent === undefined && scope.reverts === undefined && scope.resumption === undefined
    return asking && isAlone && interactions.asksPeople ? new AskedCall(call, asking) : undefined
  }

  begin(question: InteractionRequest, asked: readonly AskedQuestion[], memory: Json | undefined): void {
    this.#stored = this.#paused.keep(this.#call, question, asked, memory, { id: this.id, isAsked: true })
      .then(() => true, () => false)
    // So that its session can be resumed, too.
    this.#call.session.kept?.changed('now')
  }

  /** It is paused under this id now. */
  async handOver(pause: (id: string) => Promise<string>): Promise<string> {
    await this.#stored
    const id = await pause(this.id)
    this.#stored = undefined
    return id
  }

  /**
   * Before the answer takes effect, so that no other host takes the question for open. Rejects with StoreUnavailable, or
   * with InteractionAlreadyAnswered if another host goes on with the call: then it must not run here.
   */
  async over(): Promise<void> {
    const stored = await this.#stored
    if (stored === undefined) return
    this.#stored = undefined
    await this.#paused.askedNoMore(this.id, !stored)
  }
}
