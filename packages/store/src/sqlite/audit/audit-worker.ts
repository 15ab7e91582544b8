import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { AuditMark, AuditEnd, type AuditDraft } from '../../records/audit-chain.ts'
import { LockWait, LOCK_WAIT_MS, settingsFor, FileIdentity } from '../database-file.ts'

export interface ThreadStart {
  readonly file: string
  /** The file does not grow beyond this. */
  readonly maxPages: number
}

/** One to each draft, in their order, after the one that says it is ready. */
export type Answer = 'ready' | { readonly position: number } | { readonly message: string; readonly errcode: number | undefined }

// The thread loads this file and its imports only, so that it starts quickly: it makes no errors of the contract.

/** SQLITE_BUSY and SQLITE_LOCKED; extended codes carry them in their lowest byte. */
const isHeld = (errcode = 0): boolean => [5, 6].includes(errcode & 0xff)

export function run({ file, maxPages }: ThreadStart): void {
  const port = parentPort!
  // SQLite itself may wait: nothing else runs in this thread.
  const database = new DatabaseSync(file, { timeout: LOCK_WAIT_MS, allowExtension: false, defensive: true })
  // FULL: a commit returns when it would survive a loss of power.
  database.exec(settingsFor(maxPages, 'FULL'))
  const hold = new LockWait()
  const identity = new FileIdentity(file)
  const audit = new AuditEnd(database)
  const mark = new AuditMark(file)
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  let waiting = LOCK_WAIT_MS

  const waitFor = (waitMs: number): void => {
    if (waiting !== waitMs) database.exec(`PRAGMA busy_timeout = ${waitMs}`)
    waiting = waitMs
  }
  const write = (draft: AuditDraft): Answer => {
    try {
      waitFor(hold.waitMs)
      begin.run()
      hold.end()
      const end = audit.add(draft)
      commit.run()
      identity.check()
      mark.note(end)
      return { position: end.position }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      const { message, errcode } = error as { readonly message: string; readonly errcode?: number }
      if (isHeld(errcode)) hold.timedOut()
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
