import { hostname } from 'node:os'
import type { AdoptedRecords, AuditChain, AuditEntry, AuditSpan } from '@bulkhead/contract'
import {
  adoptedEnd, archiveRecord, auditPage, CHAIN_START, entriesOf, finishedText, storeError, type AuditDraft, type ChainPosition,
} from '@bulkhead/store/records'
import { statement, type Database, type Row, type Run, type Value } from '../connection/database.ts'
import { newRevision } from './entries.ts'
import { OperationOrder } from './operation-order.ts'

const OWN_CHAIN = 'tenant = @TENANT AND chain = (SELECT id FROM @.audit_chain WHERE tenant = @TENANT AND name = $1)'
const CHAIN = statement('audit_chain', 'SELECT * FROM @.audit_chain WHERE tenant = @TENANT AND name = $1')
const CHAINS = statement('audit_chains', 'SELECT name FROM @.audit_chain WHERE tenant = @TENANT ORDER BY name')
const NEW_CHAIN = statement('audit_new_chain', `
  INSERT INTO @.audit_chain (name) VALUES ($1) ON CONFLICT (tenant, name) DO NOTHING`)
/** The link of a row covers the one before it, which only the server knows: another process may share the chain. */
const APPEND = statement('audit_append', `
  WITH head AS (
    UPDATE @.audit_chain SET last_position = last_position + $2::bigint, last_link = encode(sha256(convert_to(
      last_link || ' ' || (last_position + 1)::text || ' ' || $3::text, 'UTF8')), 'hex')
    WHERE tenant = @TENANT AND name = $1 RETURNING id, last_position, last_link
  )
  INSERT INTO @.audit (chain, position, record, link, token)
  SELECT id, last_position - $2::bigint + 1, $3::text, last_link, $4::bigint FROM head
  RETURNING position + $2::bigint - 1 AS last`)
const APPENDED = statement('audit_appended', `
  SELECT position + $3::bigint - 1 AS last FROM @.audit
  WHERE ${OWN_CHAIN} AND position > $2 AND token = $4`)
/** Starts with the row that contains the position. */
const PAGE = statement('audit_page', `
  SELECT position, record, link FROM @.audit
  WHERE ${OWN_CHAIN} AND position >= coalesce((
    SELECT max(position) FROM @.audit WHERE ${OWN_CHAIN} AND position <= $2), $2)
  ORDER BY position LIMIT $3`)
const LOCK_CHAIN = statement('audit_lock', 'SELECT * FROM @.audit_chain WHERE tenant = @TENANT AND name = $1 FOR UPDATE')
const ROW_OF = statement('audit_row_of', `
  SELECT link, (SELECT min(position) FROM @.audit WHERE tenant = @TENANT AND chain = $1 AND position > $2) AS next
  FROM @.audit WHERE tenant = @TENANT AND chain = $1 AND position <= $2 ORDER BY position DESC LIMIT 1`)
const CUT = statement('audit_cut', 'DELETE FROM @.audit WHERE tenant = @TENANT AND chain = $1 AND position <= $2')
const START_AT = statement('audit_start_at', `
  UPDATE @.audit_chain SET first_position = $2, before_link = $3 WHERE tenant = @TENANT AND id = $1`)

const ADOPT = statement('audit_adopt', `
  WITH moved AS (
    UPDATE @.audit_chain SET last_position = $5, last_link = $6 WHERE tenant = @TENANT AND id = $1
  )
  INSERT INTO @.audit (chain, position, record, link, token)
  SELECT $1, one.position, one.record, one.link, 0
  FROM unnest($2::bigint[], $3::text[], $4::text[]) AS one (position, record, link)`)

/** How many rows a page fetches at once. A row has up to some thousand records. */
const ROWS = 64

/** The name of the chain that this host writes. */
export const chainName = (given: string | undefined): string => given ?? hostname()

/** The audit of one host. Processes that share its name share the chain. */
export class AuditLog implements AuditChain {
  readonly name: string
  readonly #database: Database
  readonly #order = new OperationOrder()
  #isMade = false
  /** The last position that this process knows of. */
  #known = 0

  constructor(database: Database, name: string) {
    this.#database = database
    this.name = name
  }

  /** Resolves with the position of the last record. */
  append(draft: AuditDraft): Promise<number> {
    const text = finishedText(draft)
    return this.#order.all(this.name, async () => {
      await this.#make()
      const token = newRevision()
      const values: readonly Value[] = [this.name, draft.count, text, token]
      const [row] = await this.#database.queryOnce(APPEND, values, async () => {
        const found = await this.#database.query(APPENDED, [this.name, this.#known, draft.count, token])
        return found.length > 0 ? found : undefined
      })
      if (!row) throw storeError('corrupt', `The audit of ${this.name} was removed from the store. Nothing was recorded.`)
      this.#known = Number(row['last'])
      return this.#known
    })
  }

  records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    const page = auditPage(from, limit)
    return this.#order.all(this.name, async () => {
      const entries: AuditEntry[] = []
      for (let next = page.from; entries.length < page.limit;) {
        const wanted = Math.min(ROWS, page.limit - entries.length)
        const rows = await this.#database.query(PAGE, [this.name, next, wanted])
        for (const row of rows) entries.push(...entriesOf(recordsOf(row), page.from, page.limit - entries.length))
        if (rows.length < wanted || entries.length === 0) break
        next = entries.at(-1)!.position + 1
      }
      return entries
    })
  }

  auditSpan(): Promise<AuditSpan> {
    return this.#order.all(this.name, async () => spanOf(await this.#database.query(CHAIN, [this.name])))
  }

  archive(last: number, link: string, by: string): Promise<number> {
    return this.#order.all(this.name, () => this.#database.transaction((run) =>
      this.#archive(run, { position: last, link }, by), true))
  }

  async #archive(run: Run, last: ChainPosition, by: string): Promise<number> {
    const [chain] = await run(LOCK_CHAIN, [this.name])
    const [row] = chain ? await run(ROW_OF, [chain['id'] as number, last.position]) : []
    const next = Number(row?.['next'] ?? Number(chain?.['last_position'] ?? 0) + 1)
    // Records that were written together share a link, so they are removed together.
    if (!chain || row?.['link'] !== last.link || next !== last.position + 1) {
      const message = `The audit has no record ${last.position} with that link. It may have been archived before.`
      throw storeError('refused-value', `${message} Nothing was removed.`)
    }
    const id = chain['id'] as number
    await run(CUT, [id, last.position])
    await run(START_AT, [id, last.position + 1, last.link])
    const text = archiveRecord(Number(chain['first_position']), last, by)
    const [appended] = await run(APPEND, [this.name, 1, text, newRevision()])
    return Number(appended!['last'])
  }

  /** Adds rows of another store. An audit that is empty starts after `start`. */
  adopt(start: ChainPosition, rows: readonly AdoptedRecords[]): Promise<void> {
    return this.#order.all(this.name, async () => {
      await this.#make()
      await this.#database.transaction(async (run) => {
        const [chain] = await run(LOCK_CHAIN, [this.name])
        const end = { position: Number(chain!['last_position']), link: String(chain!['last_link']) }
        const from = end.position === 0 ? start : end
        const last = adoptedEnd(from, rows)
        const id = chain!['id'] as number
        if (end.position === 0) await run(START_AT, [id, start.position + 1, start.link])
        await run(ADOPT, [
          id, rows.map(({ position }) => position), rows.map(({ record }) => record), rows.map(({ link }) => link),
          last.position, last.link,
        ])
      }, true)
    })
  }

  async #make(): Promise<void> {
    if (this.#isMade) return
    await this.#database.query(NEW_CHAIN, [this.name])
    this.#isMade = true
  }

  settled(): Promise<void> {
    return this.#order.settled()
  }
}

/** The audits of all hosts. */
export async function chainsIn(database: Database): Promise<readonly AuditLog[]> {
  return (await database.query(CHAINS)).map((row) => new AuditLog(database, String(row['name'])))
}

const recordsOf = (row: Row) =>
  ({ position: Number(row['position']), record: String(row['record']), link: String(row['link']) })

function spanOf([chain]: readonly Row[]): AuditSpan {
  if (!chain) return { first: 0, before: CHAIN_START, last: 0, link: CHAIN_START }
  const last = Number(chain['last_position'])
  return {
    first: last === 0 ? 0 : Number(chain['first_position']), before: String(chain['before_link']),
    last, link: String(chain['last_link']),
  }
}

