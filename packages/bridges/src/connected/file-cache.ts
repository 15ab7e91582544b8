import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'

const MAX_CHARS = 4 * 1024 * 1024

/**
 * Caches the answers of servers and documents, keyed by a digest of their identity. The content is untrusted. Never throws: if the
 * cache cannot be read or written, it is empty.
 */
export class RememberedFiles {
  readonly #folder: string | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  read(identity: string): JsonObject | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const text = readFileSync(this.#file(identity), 'utf8')
      const parsed = text.length > MAX_CHARS ? undefined : parseJson(text)
      return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
    } catch {
      return undefined
    }
  }

  write(identity: string, said: object): void {
    const text = JSON.stringify(said)
    if (this.#folder === undefined || text.length > MAX_CHARS) return
    // A fixed name, so that a file left by a killed process is overwritten.
    const draft = `${this.#file(identity)}.tmp`
    try {
      makeFolder(this.#folder)
      writeFileSync(draft, text, { mode: 0o600 })
      renameSync(draft, this.#file(identity))
    } catch {
      rmSync(draft, { force: true })
    }
  }

  #file(identity: string): string {
    return join(this.#folder!, `${identity.slice(0, 64)}.json`)
  }
}
