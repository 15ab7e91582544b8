import { open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AuditEntry, AuditSpan, Store } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { verifyAudit } from '@bulkhead/store'
import { accountName } from '../facade/folders.ts'
import { exportLines, openExport } from './audit-export.ts'
import { createProgress } from './progress.ts'
import { UsageError } from './command.ts'

const PAGE = 1_000
const OWNER_ONLY_FILE = 0o600
const CHUNK_CHARS = 2 ** 20

/** What was taken out, and how many records are left. */
export interface Archive extends AuditSpan {
  readonly left: number
}

/**
 * Writes what happened before that time to a new file, in the form of an export, proves that it is whole there, and takes it out of the
 * store. undefined where there is nothing so old. When it rejects before that, nothing is taken out, and the file is gone.
 */
export async function archiveAudit(store: Store, file: string, before: Date): Promise<Archive | undefined> {
  const span = await olderPart(store, before)
  if (span === undefined) return undefined
  try {
    await using handle = await openNew(file)
    await write(handle, exportLines(store, span))
    await syncFolder(file)
    await prove(file, span)
  } catch (error) {
    if (error instanceof UsageError) throw error
    await rm(file, { force: true })
    throw BulkheadError.is(error) ? error : new BulkheadError('StoreUnavailable', `${file} cannot be written: ${messageOf(error)}. Nothing was taken out of the audit.`, { cause: error })
  }
  const end = await store.archive!(span.last, span.link, accountName())
  return { ...span, left: end - span.last }
}

/** The part whose records are all older, as far as one of them ends what was written together. */
async function olderPart(store: Store, before: Date): Promise<AuditSpan | undefined> {
  const span = await store.auditSpan()
  const limit = before.toISOString()
  let end: AuditEntry | undefined
  for (let from = span.first; from > 0 && from <= span.last;) {
    const page = await store.records(from, PAGE)
    const young = page.findIndex(({ record }) => isJsonObject(record) && typeof record['at'] === 'string' && record['at'] >= limit)
    end = page.slice(0, young === -1 ? page.length : young).findLast(({ link }) => link !== null) ?? end
    if (young !== -1 || page.length === 0) break
    from = page.at(-1)!.position + 1
  }
  return end && { first: span.first, before: span.before, last: end.position, link: end.link! }
}

/** Contract: throws UsageError for one that is there, which is left as it is. */
async function openNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', OWNER_ONLY_FILE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new UsageError(`${file} is there already. Name a file that is not.`)
  }
}

async function write(handle: FileHandle, lines: AsyncIterable<string>): Promise<void> {
  const progress = createProgress('archiving')
  let text = ''
  let written = 0
  try {
    for await (const line of lines) {
      text += `${line}\n`
      if (text.length < CHUNK_CHARS) continue
      await handle.appendFile(text)
      progress.report(written += text.length, undefined)
      text = ''
    }
    await handle.appendFile(text)
    await handle.sync()
  } finally {
    progress.end()
  }
}

async function prove(file: string, span: AuditSpan): Promise<void> {
  using written = await openExport(file)
  const verdict = await verifyAudit(written, { position: span.last, link: span.link })
  if (verdict.ok) return
  throw new BulkheadError('StoreUnavailable', `The audit is broken at record ${verdict.position}: ${verdict.reason}. Nothing was taken out of it. See "bulkhead audit verify".`)
}

/** Without it, the name of a new file may be lost with the power, though its content is on the disk. */
async function syncFolder(file: string): Promise<void> {
  await using folder = await open(dirname(file))
  await folder.sync()
}
