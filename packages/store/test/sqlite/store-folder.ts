import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { openSqliteStore, type SqliteStoreOptions } from '../../src/index.ts'

/** A temporary folder. Disposing it closes the stores in it and removes it. */
export class StoreFolder implements AsyncDisposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-store-')))
  readonly file = join(this.path, 'host.db')
  readonly #opened: Store[] = []

  async open(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
    const store = await openSqliteStore({ file: this.file, ...options })
    this.#opened.push(store)
    return store
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#opened) await store.close()
    rmSync(this.path, { recursive: true, force: true })
  }
}
