import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'

const MAX_CHARS = 4 * 1024 * 1024

/**
 * What strangers said when they were last heard, under a digest of who they are, so that they need not be heard again. It is as
 * good as what a stranger says. Contract: never throws; what cannot be read or written is not remembered.
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
    // One name: what somebody left who was killed is written over.
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
