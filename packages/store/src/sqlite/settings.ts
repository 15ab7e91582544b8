import type { DatabaseSync } from 'node:sqlite'
import { storeFault } from '../store-fault.ts'
import { settingsFor } from './connection-settings.ts'
import { pragmaNumber } from './schema.ts'

/** How a connection works on the file. All but the log are settings of the connection and made each time. */
export function applySettings(database: DatabaseSync, file: string, maxBytes: number): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (journal !== 'wal') {
    const message = `The store ${file} is on a disk that cannot keep its log. Put it on a local disk.`
    throw storeFault('location', message, { data: { file } })
  }
  // NORMAL: a commit does not wait for the disk; whoever acknowledges it does, with the thread free.
  database.exec(settingsFor(Math.floor(maxBytes / pragmaNumber(database, 'page_size')), 'NORMAL'))
}
