import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { AuditDraft } from '../../audit-draft.ts'
import { AuditEnd } from './audit-end.ts'
import { AuditMark } from './audit-mark.ts'
import { settingsFor } from '../connection-settings.ts'
import type { Answer, ThreadStart } from './thread-protocol.ts'

// This file and what it imports is all the thread loads, so that it starts in a blink: no errors of the contract are made here.

/** How long another process may hold the file. Nobody else waits in this thread, so SQLite itself may. */
const PATIENCE_MS = 5_000

const port = parentPort!
const { file, maxPages } = workerData as ThreadStart
const database = new DatabaseSync(file, { timeout: PATIENCE_MS, allowExtension: false, defensive: true })
// FULL: a commit returns when it would survive a loss of power.
database.exec(settingsFor(maxPages, 'FULL'))
const audit = new AuditEnd(database)
const mark = new AuditMark(file)
const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]

function write(draft: AuditDraft): Answer {
  try {
    begin.run()
    const end = audit.add(draft)
    commit.run()
    mark.note(end)
    return { position: end.position }
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    const { message, errcode } = error as { readonly message: string; readonly errcode?: number }
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
