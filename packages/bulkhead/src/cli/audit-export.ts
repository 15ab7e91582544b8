import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { AuditEntry, AuditSpan, Store } from '@bulkhead/contract'
import { BulkheadError, isJsonObject, parseJson, visibleJson, type Json } from '@bulkhead/contract/plain'
import type { AuditSource } from '@bulkhead/store'

const PAGE = 1_000

/** The whole audit as lines of JSON: from where to where it reaches, then one record each. */
export async function* exportLines(store: Store): AsyncGenerator<string> {
  const span = await store.auditSpan()
  yield JSON.stringify({ ...span })
  for (let from = span.first; from <= span.last;) {
    // No further than it said: a host may be writing.
    const page = await store.records(from, Math.min(PAGE, span.last - from + 1))
    if (page.length === 0) return
    for (const entry of page) yield visibleJson(JSON.stringify(entry))
    from = page.at(-1)!.position + 1
  }
}

/** An audit as it was exported. Rejects with StoreUnavailable for a file that is none. */
export async function openExport(file: string): Promise<AuditSource> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity })
  let span: AuditSpan | undefined
  const entries: AuditEntry[] = []
  let number = 0
  try {
    for await (const line of lines) {
      number++
      const parsed = parseJson(line)
      const value = parsed.ok ? parsed.value : undefined
      if (span === undefined) span = readSpan(value)
      // A line beyond those that are proven would look as proven as they are.
      else if (entries.push(readEntry(value)) > countOf(span)) throw new RangeError('too much')
    }
  } catch (error) {
    const what = error instanceof RangeError ? `line ${number} is not one of an exported audit` : String((error as Error).message)
    throw new BulkheadError('StoreUnavailable', `${file} cannot be read: ${what}. Export it anew.`, { cause: error })
  }
  if (span === undefined) throw new BulkheadError('StoreUnavailable', `${file} is empty. Export the audit anew.`)
  const reach = span
  return {
    auditSpan: async () => reach,
    records: async (from = 1, limit = Infinity) => entries.filter(({ position }) => position >= from).slice(0, limit),
  }
}

const countOf = ({ first, last }: AuditSpan): number => last === 0 ? 0 : last - first + 1

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
