import { isLockedTool } from '@bulkhead/contract'

/** With more tools than this a model is shown the locked ones, and finds the others. */
export const SHELF_THRESHOLD = 20

/** Which tools each session has found. */
export class ToolShelf {
  readonly #found = new Map<string, Set<string>>()
  readonly #threshold: number

  constructor(threshold = SHELF_THRESHOLD) {
    this.#threshold = threshold
  }

  found(sessionId: string, names: readonly string[]): void {
    const found = this.#found.get(sessionId) ?? new Set()
    for (const name of names) found.add(name)
    this.#found.set(sessionId, found)
  }

  /** What of its tools a session's model is shown. */
  offered<Tool extends { readonly name: string }>(sessionId: string, tools: readonly Tool[]): readonly Tool[] {
    if (tools.length <= this.#threshold) return tools
    const found = this.#found.get(sessionId)
    return tools.filter(({ name }) => isLockedTool(name) || found?.has(name) === true)
  }

  forget(sessionId: string): void {
    this.#found.delete(sessionId)
  }
}
