import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import type { AuditDraft } from '../../audit-draft.ts'
import { AuditEnd } from './audit-end.ts'
import { AuditMark } from './audit-mark.ts'
import { settingsFor } from '../connection-settings.ts'
import { Hold, PATIENCE_MS } from '../hold.ts'
import { StandingFile } from '../standing-file.ts'
import type { Answer, ThreadStart } from './thread-protocol.ts'

// The thread loads this file and its imports only, so that it starts quickly: it makes no errors of the contract.

/** SQLITE_BUSY and SQLITE_LOCKED; extended codes carry them in their lowest byte. */
const isHeld = (errcode = 0): boolean => [5, 6].includes(errcode & 0xff)

export function run({ file, maxPages }: ThreadStart): void {
  const port = parentPort!
  // SQLite itself may wait: nothing else runs in this thread.
  const database = new DatabaseSync(file, { timeout: PATIENCE_MS, allowExtension: false, defensive: true })
  // FULL: a commit returns when it would survive a loss of power.
  database.exec(settingsFor(maxPages, 'FULL'))
  const hold = new Hold()
  const standing = new StandingFile(file)
  const audit = new AuditEnd(database)
  const mark = new AuditMark(file)
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  let waiting = PATIENCE_MS

  const waitFor = (patienceMs: number): void => {
    if (waiting !== patienceMs) database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
    waiting = patienceMs
  }
  const write = (draft: AuditDraft): Answer => {
    try {
      waitFor(hold.patienceMs)
      begin.run()
      hold.end()
      const end = audit.add(draft)
      commit.run()
      standing.check()
      mark.note(end)
      return { position: end.position }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      const { message, errcode } = error as { readonly message: string; readonly errcode?: number }
      if (isHeld(errcode)) hold.ranOut()
      return { message, errcode }
    }
  }

  port.on('message', (message: AuditDraft | 'close') => {
    if (message !== 'close') return port.postMessage(write(message))
    database.close()
    mark.close()
    port.close()
  })
  port.postMessage('ready' satisfies Answer)
}
