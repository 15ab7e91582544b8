/** Promises that end with their compartment at the latest: each settles once, by its own end or by that of all. */
export class Pending {
  readonly #rejections = new Set<(error: unknown) => void>()
  #ended: { readonly error: unknown } | undefined

  get size(): number {
    return this.#rejections.size
  }

  track<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended.error)
    return new Promise<T>((resolve, reject) => {
      this.#rejections.add(reject)
      const settle = <V>(with_: (value: V) => void) => (value: V): void => {
        this.#rejections.delete(reject)
        with_(value)
      }
      begin().then(settle(resolve), settle(reject))
    })
  }

  /** Idempotent: the first error is the one that everything later is told too. */
  endAll(error: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { error }
    for (const reject of this.#rejections) reject(error)
    this.#rejections.clear()
  }
}
