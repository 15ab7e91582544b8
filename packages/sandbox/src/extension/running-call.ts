/** One tool call under way. Most tools never look at their signal, so it is made when one does. */
export class RunningCall {
  readonly callId: string
  #controller: AbortController | undefined
  #aborted: DOMException | undefined
  #telling = 0
  #told: PromiseWithResolvers<void> | undefined

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
    this.#told?.resolve()
  }

  /** Something is on its way to whoever watches the call. */
  tells(arriving: Promise<unknown>, refused: (error: unknown) => void): void {
    this.#telling++
    const arrived = (): void => {
      if (--this.#telling === 0) this.#told?.resolve()
    }
    arriving.then(arrived, (error: unknown) => {
      refused(error)
      arrived()
    })
  }

  /** Set while something is and someone waits; resolves when all of it has arrived. No outcome comes before what led to it. */
  get told(): Promise<void> | undefined {
    if (this.#telling === 0 || this.#aborted !== undefined) return undefined
    this.#told ??= Promise.withResolvers()
    return this.#told.promise
  }
}
