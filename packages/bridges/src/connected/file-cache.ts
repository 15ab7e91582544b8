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
      const text = readFileSync(join(this.#folder, fileName(identity)), 'utf8')
      const parsed = text.length > MAX_CHARS ? undefined : parseJson(text)
      return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
    } catch {
      return undefined
    }
  }

  write(identity: string, value: object): void {
    const text = JSON.stringify(value)
    if (this.#folder === undefined || text.length > MAX_CHARS) return
    keepFile(this.#folder, fileName(identity), text)
  }
}

const fileName = (identity: string): string => `${identity.slice(0, 64)}.json`

/** Writes a file of a cache, whole or not at all. Never throws. */
export function keepFile(folder: string, name: string, content: string | Uint8Array): void {
  // A fixed name, so that a file left by a killed process is overwritten.
  const draft = join(folder, `${name}.tmp`)
  try {
    makeFolder(folder)
    writeFileSync(draft, content, { mode: 0o600 })
    renameSync(draft, join(folder, name))
  } catch {
    rmSync(draft, { force: true })
  }
}
