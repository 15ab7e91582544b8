/** Memory for decoders, of one compartment. Readers take turns for it, first come, first served. */
export class DecoderMemory {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []
  #free: number

  constructor(bytes: number) {
    this.#free = bytes
  }

  claim(bytes: number): DecoderClaim {
    const { promise, resolve } = Promise.withResolvers<void>()
    let held = false
    const request = {
      bytes,
      begin: () => {
        held = true
        this.#free -= bytes
        resolve()
      },
    }
    this.#waiting.push(request)
    this.#admit()
    return {
      granted: promise,
      isGranted: () => held,
      giveBack: () => {
        const place = this.#waiting.indexOf(request)
        if (place >= 0) this.#waiting.splice(place, 1)
        if (held) this.#free += bytes
        held = false
        resolve()
        this.#admit()
      },
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes <= this.#free) this.#waiting.shift()!.begin()
  }
}

export interface DecoderClaim {
  /** Resolves when there is room, or the claim was given back. */
  readonly granted: Promise<void>
  isGranted(): boolean
  /** Idempotent. */
  giveBack(): void
}
