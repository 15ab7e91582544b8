import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'

const MAX_CHARS = 4 * 1024 * 1024

/**
 * Caches the tools of servers and documents, keyed by a digest of their identity. The content is untrusted. Never
 * throws: a cache that cannot be read or written is empty.
 */
export class FileCache {
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

  write(identity: string, value: object): void {
    const text = JSON.stringify(value)
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
