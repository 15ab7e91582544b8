/** The cancellation of one call. Most tools never look at their signal, and making one costs more than a short call. */
export class LazySignal {
  #controller: AbortController | undefined
  #aborted: DOMException | undefined

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
