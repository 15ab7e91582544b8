import type { DatabaseSync } from 'node:sqlite'
import { storeFault } from '../store-fault.ts'
import { pragmaNumber } from './schema.ts'

/** What the log shrinks to after it has been written back; it grows beyond this only while a long read goes on. */
const LOG_BYTES = 4 * 1024 ** 2

/** How a connection works on the file. All but the log are settings of the connection and made each time. */
export function applySettings(database: DatabaseSync, file: string, maxBytes: number): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (journal !== 'wal') {
    const message = `The store ${file} is on a disk that cannot keep its log. Put it on a local disk.`
    throw storeFault('location', message, { data: { file } })
  }
  // NORMAL: a commit does not wait for the disk; whoever acknowledges it does, with the thread free.
  database.exec(`
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = ${LOG_BYTES};
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA max_page_count = ${Math.floor(maxBytes / pragmaNumber(database, 'page_size'))};
  `)
}
