import { open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AuditEntry, AuditSpan, Store } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { verifyAudit } from '@bulkhead/store'
import { accountName } from '../facade/folders.ts'
import { exportLines, openExport } from './audit-export.ts'
import { createProgress } from './progress.ts'
import { UsageError } from './command.ts'

const PAGE = 1_000
const OWNER_ONLY_FILE = 0o600
const CHUNK_CHARS = 2 ** 20

/** The archived span, and the number of records left in the store. */
export interface Archive extends AuditSpan {
  readonly left: number
}

/**
 * Exports records older than `before` to a new file, verifies the file, then removes them from the store. Returns
 * undefined if there are none. If writing or verification fails, the store is unchanged and the file is removed.
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
    if (BulkheadError.is(error)) throw error
    const message = `${file} cannot be written: ${messageOf(error)}. Nothing was removed from the audit.`
    throw new BulkheadError('StoreUnavailable', message, { cause: error })
  }
  const end = await store.archive!(span.last, span.link, accountName())
  return { ...span, left: end - span.last }
}

/** The records older than `before`, up to the end of a group: only the last record of a group has a link. */
async function olderPart(store: Store, before: Date): Promise<AuditSpan | undefined> {
  const span = await store.auditSpan()
  const limit = before.toISOString()
  let end: AuditEntry | undefined
  for (let from = span.first; from > 0 && from <= span.last;) {
    const page = await store.records(from, PAGE)
    const young = page.findIndex(
      ({ record }) => isJsonObject(record) && typeof record['at'] === 'string' && record['at'] >= limit,
    )
    end = page.slice(0, young === -1 ? page.length : young).findLast(({ link }) => link !== null) ?? end
    if (young !== -1 || page.length === 0) break
    from = page.at(-1)!.position + 1
  }
  return end && { first: span.first, before: span.before, last: end.position, link: end.link! }
}

/** Throws UsageError if the file exists. Never overwrites it. */
async function openNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', OWNER_ONLY_FILE)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    throw new UsageError(`${file} already exists. Name a new file.`)
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
  const fault = `The audit is broken at record ${verdict.position}: ${verdict.reason}.`
  throw new BulkheadError('StoreUnavailable', `${fault} Nothing was removed from it. Run "bulkhead audit verify".`)
}

/** Without this fsync, a power failure may lose the directory entry of the new file. */
async function syncFolder(file: string): Promise<void> {
  await using folder = await open(dirname(file))
  await folder.sync()
}
