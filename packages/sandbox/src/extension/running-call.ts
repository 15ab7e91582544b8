/** One tool call in progress. Most tools never read their signal, so it is created when one does. */
export class RunningCall {
  readonly callId: string
  #controller: AbortController | undefined
  #aborted: DOMException | undefined
  #sending = 0
  #delivered: PromiseWithResolvers<void> | undefined

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
    this.#delivered?.resolve()
  }

  /** Progress or a partial result is on its way to the host. */
  sends(delivery: Promise<unknown>, refused: (error: unknown) => void): void {
    this.#sending++
    const arrived = (): void => {
      if (--this.#sending === 0) this.#delivered?.resolve()
    }
    delivery.then(arrived, (error: unknown) => {
      refused(error)
      arrived()
    })
  }

  /** Resolves when everything sent has arrived, so that no outcome overtakes it. Undefined when nothing is on its way. */
  get delivered(): Promise<void> | undefined {
    if (this.#sending === 0 || this.#aborted !== undefined) return undefined
    this.#delivered ??= Promise.withResolvers()
    return this.#delivered.promise
  }
}
