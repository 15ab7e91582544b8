import { createReadStream, type ReadStream } from 'node:fs'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { BulkheadError, type AuditEntry, type AuditSpan, type Store } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, JSON_LIMITS, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleJson } from '@bulkhead/kit/text'
import { verifyAudit, type AuditSource } from '@bulkhead/store'
import { accountName } from '../../facade/folders.ts'
import { UsageError } from '../command.ts'
import { createProgress } from '../output.ts'

const PAGE = 1_000
/** The text of a whole group is one value, so it can be longer than a record. */
const LINE_LIMITS = { ...JSON_LIMITS, maxChars: 2 ** 29 }

/** The audit as JSON lines: the span first, then one record per line. */
export async function* exportLines(source: AuditSource, span: AuditSpan): AsyncGenerator<string> {
  yield JSON.stringify({ ...span })
  for (let from = span.first; from <= span.last;) {
    // Stop at the end of the span: a host may be appending records.
    const page = await source.records(from, Math.min(PAGE, span.last - from + 1))
    if (page.length === 0) return
    if (page[0]!.position !== from) {
      throw new BulkheadError(
        'StoreUnavailable', `Record ${from} of the audit is missing. If another process is archiving it, try again.`,
      )
    }
    for (const entry of page) yield visibleJson(JSON.stringify(entry))
    from = page.at(-1)!.position + 1
  }
}

/** Opens an exported audit. Rejects with StoreUnavailable for an invalid file. Reading records rejects the same way. */
export async function openExport(file: string): Promise<ExportedAudit> {
  const exported = new ExportedAudit(file)
  await exported.auditSpan()
  return exported
}

/** Reads the file as a stream, because it can be large. Going back rereads it from the nearest mark. */
class ExportedAudit implements AuditSource, Disposable {
  readonly forgets = true
  readonly #file: string
  #lines: ExportLines
  /** The first position that was not read yet. */
  #position = 0
  /** Where lines begin, in order. */
  readonly #marks: LineMark[] = []

  constructor(file: string) {
    this.#file = file
    this.#lines = new ExportLines(file)
  }

  async auditSpan(): Promise<AuditSpan> {
    return this.#lines.span()
  }

  async records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    if (from < this.#position) await this.#again(from)
    const entries: AuditEntry[] = []
    while (entries.length < limit) {
      const mark = this.#lines.mark
      const entry = await this.#lines.next()
      if (entry === undefined) break
      this.#note(entry.position, mark)
      if (entry.position >= from) entries.push(entry)
    }
    this.#position = from + entries.length
    return entries
  }

  [Symbol.dispose](): void {
    this.#lines.close()
  }

  async #again(from: number): Promise<void> {
    const mark = this.#marks.findLast(({ position }) => position <= from)
    const span = await this.#lines.span()
    this.#lines.close()
    this.#lines = new ExportLines(this.#file, mark && { ...mark, span })
  }

  #note(position: number, mark: Omit<LineMark, 'position'>): void {
    if (position >= (this.#marks.at(-1)?.position ?? 0) + PAGE) this.#marks.push({ ...mark, position })
  }
}

interface LineMark {
  readonly position: number
  /** In bytes. */
  readonly offset: number
  /** Lines before it. */
  readonly number: number
}

/** Calls must not overlap. Rejects with StoreUnavailable for an invalid line. */
class ExportLines {
  readonly #file: string
  readonly #input: ReadStream
  readonly #lines: AsyncIterator<string>
  #span: AuditSpan | undefined
  #number: number
  #offset: number

  constructor(file: string, from?: Omit<LineMark, 'position'> & { readonly span: AuditSpan }) {
    this.#file = file
    this.#span = from?.span
    this.#number = from?.number ?? 0
    this.#offset = from?.offset ?? 0
    this.#input = createReadStream(file, { start: this.#offset })
    this.#lines = createInterface({ input: this.#input, crlfDelay: Infinity })[Symbol.asyncIterator]()
  }

  /** Where the next line begins. */
  get mark(): Omit<LineMark, 'position'> {
    return { offset: this.#offset, number: this.#number }
  }

  async span(): Promise<AuditSpan> {
    this.#span ??= await this.#read(readSpan)
    if (this.#span === undefined) {
      throw new BulkheadError('StoreUnavailable', `${this.#file} is empty. Export the audit again.`)
    }
    return this.#span
  }

  async next(): Promise<AuditEntry | undefined> {
    const { first, last } = await this.span()
    const count = last === 0 ? 0 : last - first + 1
    return this.#read((value) => {
      // Lines after the end of the span are not verified, so they are rejected.
      if (this.#number > count + 1) throw new RangeError('too much')
      return readEntry(value)
    })
  }

  close(): void {
    this.#input.destroy()
  }

  async #read<Value>(form: (value: Json | undefined) => Value): Promise<Value | undefined> {
    try {
      const line = await this.#lines.next()
      if (line.done === true) return undefined
      this.#number++
      // Exports end lines with a line feed alone.
      this.#offset += Buffer.byteLength(line.value) + 1
      const parsed = parseJson(line.value, LINE_LIMITS)
      return form(parsed.ok ? parsed.value : undefined)
    } catch (error) {
      const what = error instanceof RangeError
        ? `line ${this.#number} is not a record of an exported audit`
        : messageOf(error)
      throw new BulkheadError(
        'StoreUnavailable', `${this.#file} cannot be read: ${what}. Export it again.`, { cause: error },
      )
    }
  }
}

function readSpan(value: Json | undefined): AuditSpan {
  if (!isJsonObject(value)) throw new RangeError('no span')
  const { first, before, last, link } = value
  if (typeof first !== 'number' || typeof last !== 'number' || typeof before !== 'string' || typeof link !== 'string') {
    throw new RangeError('no span')
  }
  return { first, before, last, link }
}

function readEntry(value: Json | undefined): AuditEntry {
  if (!isJsonObject(value)) throw new RangeError('no record')
  const { position, record, link, text } = value
  if (typeof position !== 'number' || record === undefined || !(typeof link === 'string' || link === null)) {
    throw new RangeError('no record')
  }
  if (text === undefined) return { position, record, link }
  if (typeof text !== 'string') throw new RangeError('no record')
  return { position, record, link, text }
}

const OWNER_ONLY_FILE = 0o600
const CHUNK_CHARS = 2 ** 20

type AuditStore = Pick<Store, 'records' | 'auditSpan' | 'archive'>

/** The archived span, and the number of records left in the store. */
export interface Archive extends AuditSpan {
  readonly left: number
}

/**
 * Exports records older than `before` to a new file, verifies the file, then removes them from the store. Returns
 * undefined if there are none. If writing or verification fails, the store is unchanged and the file is removed.
 */
export async function archiveAudit(store: AuditStore, file: string, before: Date): Promise<Archive | undefined> {
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
async function olderPart(store: AuditStore, before: Date): Promise<AuditSpan | undefined> {
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
