/** One tool call under way. Most tools never look at their signal, so it is made when one does. */
export class RunningCall {
  readonly callId: string
  #controller: AbortController | undefined
  #aborted: DOMException | undefined

  constructor(callId: string) {
    this.callId = callId
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  abort(reason: string): void {
    this.#aborted ??= new DOMException(reason, 'AbortError')
    this.#controller?.abort(this.#aborted)
  }
}
