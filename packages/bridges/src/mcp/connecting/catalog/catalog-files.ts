import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, parseJson } from '@bulkhead/contract'
import { readCatalog, type Catalog } from './catalog.ts'

const MAX_CHARS = 4 * 1024 * 1024

/**
 * What servers offered when they were last asked, so that their tools are known without starting them. Bound to who the server is.
 * Contract: never throws; what cannot be read or written is not remembered.
 */
export class CatalogFiles {
  readonly #folder: string | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  read(identity: string): Catalog | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const text = readFileSync(this.#file(identity), 'utf8')
      const parsed = text.length > MAX_CHARS ? undefined : parseJson(text)
      if (!parsed?.ok || !isJsonObject(parsed.value)) return undefined
      const { version, tools } = parsed.value
      return typeof version === 'string' && Array.isArray(tools) ? readCatalog(version, tools) : undefined
    } catch {
      return undefined
    }
  }

  write(identity: string, { version, tools }: Catalog): void {
    const text = JSON.stringify({ version, tools: tools.map(({ definition }) => definition) })
    if (this.#folder === undefined || text.length > MAX_CHARS) return
    const own = `${this.#file(identity)}.${randomUUID()}`
    try {
      mkdirSync(this.#folder, { recursive: true })
      writeFileSync(own, text, { mode: 0o600 })
      renameSync(own, this.#file(identity))
    } catch {
      rmSync(own, { force: true })
    }
  }

  #file(identity: string): string {
    return join(this.#folder!, `${identity.slice(0, 64)}.json`)
  }
}
