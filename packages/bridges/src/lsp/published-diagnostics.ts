import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { OpenDocument } from './open-documents.ts'

/** A server publishes for every file of the project. Only the latest are kept. */
const MOST_FILES = 500

/** The diagnostics that a server publishes by itself. */
export class PublishedDiagnostics {
  readonly #last = new Map<string, Json>()
  readonly #waiting = new Set<{ readonly document: OpenDocument; done(): void }>()
  readonly #settleMs: number

  /** `settleMs`: how long a report may still change. Servers publish the results of several checks in turn. */
  constructor(settleMs: number) {
    this.#settleMs = settleMs
  }

  notice(params: Json): void {
    const { uri, version, diagnostics = null } = isJsonObject(params) ? params : {}
    if (typeof uri !== 'string') return
    const key = keyOf(uri)
    this.#last.delete(key)
    this.#last.set(key, diagnostics)
    const [oldest] = this.#last.keys()
    if (this.#last.size > MOST_FILES && oldest !== undefined) this.#last.delete(oldest)
    for (const { document, done } of this.#waiting) {
      if (keyOf(document.uri) === key && (typeof version !== 'number' || version >= document.version)) done()
    }
  }

  /**
   * What the server reports for this version of the document, once it has not changed for a while. An empty report is
   * often followed by another one.
   */
  async settled(document: OpenDocument, signal: AbortSignal): Promise<Json | undefined> {
    await this.#next(document, signal)
    for (;;) {
      const found = this.#last.get(keyOf(document.uri))
      const isEmpty = Array.isArray(found) && found.length === 0
      const quiet = AbortSignal.timeout(isEmpty ? this.#settleMs : this.#settleMs / 4)
      try {
        await this.#next(document, AbortSignal.any([signal, quiet]))
      } catch (error) {
        if (signal.aborted) throw error
        return found
      }
    }
  }

  async #next(document: OpenDocument, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = { document, done: resolve }
    this.#waiting.add(waiting)
    try {
      await untilAborted(promise, signal)
    } finally {
      this.#waiting.delete(waiting)
    }
  }
}

/** Servers encode URIs differently. */
const keyOf = (uri: string): string => {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}
