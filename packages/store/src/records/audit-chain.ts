import { hash } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** What the first record continues. */
export const CHAIN_START = '0'.repeat(64)

/** Between the texts of records that are written together; none of them can hold one. */
export const BETWEEN = '\n'

/** The hash link of one group: the stored texts, the first at this position. */
export const linkOf = (before: string, position: number, text: string): string => hash('sha256', `${before} ${position} ${text}`)

/** Placeholder for a digest in a draft. The JSON written here never contains it. */
export const GAP = '\0'

/** What will be one row of the audit, but for its digests: these take time, and can be taken elsewhere. */
export interface AuditDraft {
  readonly text: string
  /** One for each gap. */
  readonly digested: readonly string[]
  /** How many records it is. */
  readonly count: number
}

function finish({ text, digested }: AuditDraft): string {
  if (digested.length === 0) return text
  const [head = '', ...parts] = text.split(GAP)
  return parts.reduce((finished, part, index) => finished + hash('sha256', digested[index] ?? '') + part, head)
}

/** Where a chain ends. */
export interface ChainEnd {
  readonly position: number
  readonly link: string
}

export const markFile = (file: string): string => `${file}-end`

const OWNER_ONLY_FILE = 0o600
const { O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants
const DIGITS = 16
const FORM = /^ *([1-9]\d*) ([0-9a-f]{64})\n$/

/**
 * How far the audit had come when it was last acknowledged, in a file beside the store. SQLite takes a log as far as it can be read and
 * says nothing of the rest, so a store whose log is damaged or gone looks like one to which less was written.
 *
 * Contract: only what is on the disk is noted, so that this is never ahead of a store that is whole. It waits for nothing, and what
 * cannot be noted is not.
 */
export class AuditMark {
  readonly #file: string
  #descriptor: number | undefined

  constructor(file: string) {
    this.#file = markFile(file)
  }

  note({ position, link }: ChainEnd): void {
    try {
      this.#descriptor ??= openSync(this.#file, O_CREAT | O_WRONLY | O_NOFOLLOW, OWNER_ONLY_FILE)
      // Always as long: one write puts it in the place of the one before.
      writeSync(this.#descriptor, `${String(position).padStart(DIGITS)} ${link}\n`, 0)
    } catch {
      // The store has what it says it has all the same.
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

/** Called when the store closes. If the log is gone by then, the file is complete and may be copied or replaced. */
export function removeMark(file: string): void {
  if (!existsSync(`${file}-wal`)) rmSync(markFile(file), { force: true })
}

/** undefined where nothing was noted, or nothing that can be read. */
export function readMark(file: string): ChainEnd | undefined {
  try {
    const [, position, link] = FORM.exec(readFileSync(markFile(file), 'latin1')) ?? []
    return position === undefined || link === undefined ? undefined : { position: Number(position), link }
  } catch {
    return undefined
  }
}

/** A record that the chain is known by, kept in a table of its own: the last, or the last that was taken out. */
export class ChainPoint {
  readonly #select: StatementSync
  readonly #move: StatementSync

  constructor(database: DatabaseSync, table: 'audit_start' | 'audit_end') {
    this.#select = database.prepare(`SELECT position, link FROM ${table}`)
    this.#move = database.prepare(
      `INSERT INTO ${table} VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link`,
    )
  }

  read(): ChainEnd {
    const row = this.#select.get()
    return row === undefined ? { position: 0, link: CHAIN_START } : { position: Number(row['position']), link: String(row['link']) }
  }

  move({ position, link }: ChainEnd): void {
    this.#move.run(position, link)
  }
}

/** The end of the chain, where rows are added. Contract: within a transaction of the caller's. */
export class AuditEnd {
  readonly #insert: StatementSync
  readonly #point: ChainPoint

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?)')
    this.#point = new ChainPoint(database, 'audit_end')
  }

  /** Read within the transaction that continues it: another process may have been quicker. */
  read(): ChainEnd {
    return this.#point.read()
  }

  /** One row, at the position of its first record and under one link. Returns the new end. */
  add(draft: AuditDraft): ChainEnd {
    const end = this.read()
    const first = end.position + 1
    const text = finish(draft)
    const last = { position: end.position + draft.count, link: linkOf(end.link, first, text) }
    this.#insert.run(first, text, last.link)
    this.#point.move(last)
    return last
  }
}
