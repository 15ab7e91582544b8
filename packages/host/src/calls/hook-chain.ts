import type { Hooks } from '../model/hooks.ts'

const NONE: readonly Hooks[] = Object.freeze([])

/** The hooks of a session and, before them, those of the session it is a sub-agent of, each in the order they were added. */
export class HookChain {
  readonly #outer: HookChain | undefined
  /** The same hooks may be added twice, and each is taken away by itself. */
  readonly #entries = new Set<{ readonly hooks: Hooks }>()
  // Replaced, never changed: a call that is asking hooks goes on with those it began with.
  #own = NONE

  constructor(outer: HookChain | undefined, own: readonly Hooks[]) {
    this.#outer = outer
    for (const hooks of own) this.add(hooks)
  }

  get all(): readonly Hooks[] {
    const outer = this.#outer?.all ?? NONE
    if (outer.length === 0) return this.#own
    return this.#own.length === 0 ? outer : [...outer, ...this.#own]
  }

  /** Heard from the next call on. Returns what takes them away again; idempotent. */
  add(hooks: Hooks): () => void {
    const entry = { hooks }
    this.#entries.add(entry)
    this.#update()
    return () => {
      if (this.#entries.delete(entry)) this.#update()
    }
  }

  #update(): void {
    this.#own = [...this.#entries].map(({ hooks }) => hooks)
  }
}
