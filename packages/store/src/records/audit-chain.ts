import { hash } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AdoptedRecords } from '@bulkhead/contract'

// The audit thread loads this file. It imports only types and built-in modules, so that the thread starts quickly.

/** The link before the first record. */
export const CHAIN_START = '0'.repeat(64)

/** Separates records that are stored together. JSON on one line does not contain it. */
export const RECORD_SEPARATOR = '\n'

/** The link of one row: a hash over the previous link, the position of its first record, and its text. */
export const linkOf = (before: string, position: number, text: string): string =>
  hash('sha256', `${before} ${position} ${text}`)

/** Placeholder for a digest in a draft. The JSON written here never contains it. */
export const DIGEST_PLACEHOLDER = '\0'

/** A row of the audit whose digests are not computed yet, so that another thread can do it. */
export interface AuditDraft {
  readonly text: string
  /** The strings to digest, one per placeholder. */
  readonly digested: readonly string[]
  /** The number of records. */
  readonly count: number
}

/** The text of a draft with its digests. */
export function finishedText({ text, digested }: AuditDraft): string {
  if (digested.length === 0) return text
  const [head = '', ...parts] = text.split(DIGEST_PLACEHOLDER)
  return parts.reduce((finished, part, index) => finished + hash('sha256', digested[index] ?? '') + part, head)
}

/** The position and the link of a record. */
export interface ChainPosition {
  readonly position: number
  readonly link: string
}

/** A record that a separate table points at: the last record, or the last archived one. */
export class ChainPoint {
  readonly #select: StatementSync
  readonly #move: StatementSync

  constructor(database: DatabaseSync, table: 'audit_start' | 'audit_end') {
    this.#select = database.prepare(`SELECT position, link FROM ${table}`)
    this.#move = database.prepare(`
      INSERT INTO ${table} VALUES (1, ?, ?)
      ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link`)
  }

  read(): ChainPosition {
    const row = this.#select.get()
    if (row === undefined) return { position: 0, link: CHAIN_START }
    return { position: Number(row['position']), link: String(row['link']) }
  }

  move({ position, link }: ChainPosition): void {
    this.#move.run(position, link)
  }
}

/** Appends rows to the chain. Contract: call within a transaction. */
export class AuditEnd {
  readonly #insert: StatementSync
  readonly #point: ChainPoint

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?)')
    this.#point = new ChainPoint(database, 'audit_end')
  }

  /** Read it in the transaction that appends, because other processes append too. */
  read(): ChainPosition {
    return this.#point.read()
  }

  /** Adds one row, at the position of its first record. Returns the new end. */
  add(draft: AuditDraft): ChainPosition {
    const end = this.read()
    const first = end.position + 1
    const text = finishedText(draft)
    const last = { position: end.position + draft.count, link: linkOf(end.link, first, text) }
    this.#insert.run(first, text, last.link)
    this.#point.move(last)
    return last
  }

  /** Adds rows as they are. Contract: they continue the chain up to `end`. */
  addAll(rows: readonly AdoptedRecords[], end: ChainPosition): void {
    for (const { position, record, link } of rows) this.#insert.run(position, record, link)
    this.#point.move(end)
  }
}

export const markFile = (file: string): string => `${file}-end`

const OWNER_ONLY_FILE = 0o600
const { O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants
const DIGITS = 16
const MARK = /^ *([1-9]\d*) ([0-9a-f]{64})\n$/

/**
 * Records the last acknowledged end of the audit in a file next to the store. SQLite silently ignores the unreadable
 * rest of a write-ahead log, so a store whose log is damaged or missing looks like one with fewer records.
 *
 * Contract: the mark names only records on disk, so it is never ahead of an intact store. Does not wait for the disk,
 * and ignores failures.
 */
export class AuditMark {
  readonly #file: string
  #descriptor: number | undefined

  constructor(file: string) {
    this.#file = markFile(file)
  }

  note({ position, link }: ChainPosition): void {
    try {
      this.#descriptor ??= openSync(this.#file, O_CREAT | O_WRONLY | O_NOFOLLOW, OWNER_ONLY_FILE)
      // The length is fixed, so one write replaces the previous mark.
      writeSync(this.#descriptor, `${String(position).padStart(DIGITS)} ${link}\n`, 0)
    } catch {
      // Without the mark, lost records are not detected. The records themselves are stored.
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

/** Called when the store closes. Without a log the file is complete, and may be copied or replaced. */
export function removeMark(file: string): void {
  if (!existsSync(`${file}-wal`)) rmSync(markFile(file), { force: true })
}

/** undefined if there is no mark, or none that can be read. */
export function readMark(file: string): ChainPosition | undefined {
  try {
    const [, position, link] = MARK.exec(readFileSync(markFile(file), 'latin1')) ?? []
    return position === undefined || link === undefined ? undefined : { position: Number(position), link }
  } catch {
    return undefined
  }
}
