import type { OfferedTools } from '../extensions/registry/offered-tools.ts'

/** Tools that an operator switched off for a session. They are off for its sub-agents too. */
export class ToolSwitches {
  readonly #outer: ToolSwitches | undefined
  readonly #onChange: () => void
  /** Replaced, never changed. */
  #off: ReadonlySet<string> = new Set()

  /** `outer`: of the session that it is a sub-agent of. */
  constructor(outer: ToolSwitches | undefined, onChange: () => void) {
    this.#outer = outer
    this.#onChange = onChange
  }

  has(name: string): boolean {
    return this.#off.has(name) || this.#outer?.has(name) === true
  }

  /** Calls that run go on. */
  switch(name: string, on: boolean): void {
    this.#off = on ? this.#off.difference(new Set([name])) : this.#off.union(new Set([name]))
    this.#onChange()
  }

  /** What is off is off at once, also in a turn. */
  left(offered: OfferedTools): OfferedTools {
    const own = offered.without(this.#off)
    return this.#outer?.left(own) ?? own
  }
}
