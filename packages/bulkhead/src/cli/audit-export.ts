import { createReadStream, type ReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { AuditEntry, AuditSpan } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, JSON_LIMITS, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleJson } from '@bulkhead/kit/text'
import type { AuditSource } from '@bulkhead/store'

const PAGE = 1_000
/** The text of what was written together is one value, and longer than any record may be. */
const LINE_LIMITS = { ...JSON_LIMITS, maxChars: 2 ** 29 }

/** What it holds of the audit as lines of JSON: from where to where it reaches, then one record each. */
export async function* exportLines(source: AuditSource, span: AuditSpan): AsyncGenerator<string> {
  yield JSON.stringify({ ...span })
  for (let from = span.first; from <= span.last;) {
    // No further than it said: a host may be writing.
    const page = await source.records(from, Math.min(PAGE, span.last - from + 1))
    if (page.length === 0) return
    if (page[0]!.position !== from) {
      throw new BulkheadError('StoreUnavailable', `Record ${from} of the audit is not there, or not any more. Where somebody archives it meanwhile, try again.`)
    }
    for (const entry of page) yield visibleJson(JSON.stringify(entry))
    from = page.at(-1)!.position + 1
  }
}

/** An audit as it was exported. Rejects with StoreUnavailable for a file that is none, and so does reading it. */
export async function openExport(file: string): Promise<ExportedAudit> {
  const exported = new ExportedAudit(file)
  await exported.auditSpan()
  return exported
}

/** Read from its beginning to its end, however large it is; whoever asks for something again waits until it was read up to there. */
class ExportedAudit implements AuditSource, Disposable {
  readonly forgets = true
  readonly #file: string
  #lines: ExportLines
  /** What was not asked for yet begins here. */
  #position = 0

  constructor(file: string) {
    this.#file = file
    this.#lines = new ExportLines(file)
  }

  async auditSpan(): Promise<AuditSpan> {
    return this.#lines.span()
  }

  async records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    if (from < this.#position) this.#again()
    const entries: AuditEntry[] = []
    while (entries.length < limit) {
      const entry = await this.#lines.next()
      if (entry === undefined) break
      if (entry.position >= from) entries.push(entry)
    }
    this.#position = from + entries.length
    return entries
  }

  [Symbol.dispose](): void {
    this.#lines.close()
  }

  #again(): void {
    this.#lines.close()
    this.#lines = new ExportLines(this.#file)
  }
}

/** Contract: one after the other. Rejects with StoreUnavailable for a line that is none of an export. */
class ExportLines {
  readonly #file: string
  readonly #input: ReadStream
  readonly #lines: AsyncIterator<string>
  #span: AuditSpan | undefined
  #number = 0

  constructor(file: string) {
    this.#file = file
    this.#input = createReadStream(file)
    this.#lines = createInterface({ input: this.#input, crlfDelay: Infinity })[Symbol.asyncIterator]()
  }

  async span(): Promise<AuditSpan> {
    this.#span ??= await this.#read(readSpan)
    if (this.#span === undefined) throw new BulkheadError('StoreUnavailable', `${this.#file} is empty. Export the audit anew.`)
    return this.#span
  }

  async next(): Promise<AuditEntry | undefined> {
    const { first, last } = await this.span()
    const count = last === 0 ? 0 : last - first + 1
    return this.#read((value) => {
      // A line beyond those that are proven would look as proven as they are.
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
      const parsed = parseJson(line.value, LINE_LIMITS)
      return form(parsed.ok ? parsed.value : undefined)
    } catch (error) {
      const what = error instanceof RangeError ? `line ${this.#number} is not one of an exported audit` : messageOf(error)
      throw new BulkheadError('StoreUnavailable', `${this.#file} cannot be read: ${what}. Export it anew.`, { cause: error })
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
  if (typeof position !== 'number' || record === undefined || !(typeof link === 'string' || link === null)) throw new RangeError('no record')
  if (text === undefined) return { position, record, link }
  if (typeof text !== 'string') throw new RangeError('no record')
  return { position, record, link, text }
}
