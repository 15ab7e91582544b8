import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { AuditMark, AuditEnd, type AuditDraft } from '../../records/audit-chain.ts'
import { FileIdentity, LockWait, LogIdentity, settingsFor } from '../database-file.ts'

export interface ThreadStart {
  readonly file: string
  /** The size limit of the file. */
  readonly maxPages: number
  readonly lockWaitMs: number
}

/** `ready` first, then one answer per draft, in their order. */
export type Answer =
  | 'ready'
  | { readonly position: number }
  | { readonly message: string; readonly errcode: number | undefined }

// Imports little, so that the thread starts quickly. The host turns errors into those of the contract.

/** SQLITE_BUSY or SQLITE_LOCKED. Extended codes contain the primary one in their lowest byte. */
const isLocked = (errcode = 0): boolean => [5, 6].includes(errcode & 0xff)

export function run({ file, maxPages, lockWaitMs }: ThreadStart): void {
  const port = parentPort!
  // SQLite may block here, because nothing else runs in this thread.
  const database = new DatabaseSync(file, { timeout: lockWaitMs, allowExtension: false, defensive: true })
  // FULL: a commit returns when it would survive a power loss.
  database.exec(settingsFor(maxPages, 'FULL'))
  const lockWait = new LockWait(lockWaitMs)
  const identity = new FileIdentity(file)
  const audit = new AuditEnd(database)
  const log = new LogIdentity(file)
  const mark = new AuditMark(file)
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  let timeoutMs = lockWaitMs

  const setTimeoutTo = (waitMs: number): void => {
    if (timeoutMs !== waitMs) database.exec(`PRAGMA busy_timeout = ${waitMs}`)
    timeoutMs = waitMs
  }
  const write = (draft: AuditDraft): Answer => {
    try {
      setTimeoutTo(lockWait.waitMs)
      begin.run()
      lockWait.end()
      const end = audit.add(draft)
      commit.run()
      identity.check()
      log.check()
      mark.note(end)
      return { position: end.position }
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      const { message, errcode } = error as { readonly message: string; readonly errcode?: number }
      if (isLocked(errcode)) lockWait.timedOut()
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
