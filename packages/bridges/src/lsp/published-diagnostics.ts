import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { OpenDocument } from './open-documents.ts'

/** A server publishes for every file of the project. Only the latest are kept. */
const MOST_FILES = 500

/** The diagnostics that a server publishes by itself. */
export class PublishedDiagnostics {
  readonly #last = new Map<string, Json>()
  readonly #waiting = new Set<{ readonly document: OpenDocument; done(): void }>()

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

  last(uri: string): Json | undefined {
    return this.#last.get(keyOf(uri))
  }

  /** Resolves when the server has published for this version of the document. */
  async next(document: OpenDocument, signal: AbortSignal): Promise<void> {
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
