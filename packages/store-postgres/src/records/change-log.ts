import type { ChangeFilter, ChangeStore, NewChange, RecordedChange } from '@bulkhead/contract'
import { statement, type Database } from '../connection/database.ts'
import { newRevision } from './entries.ts'

/** How much is kept for undo. */
export interface ChangeLimits {
  /** All content together. */
  readonly totalBytes: number
  readonly ageMs: number
  readonly changes: number
}

const DAY_MS = 86_400_000
const CHANGE_LIMITS: ChangeLimits = { totalBytes: 256 * 1024 ** 2, ageMs: 30 * DAY_MS, changes: 100_000 }

const ADD = statement('change_add', `
  INSERT INTO @.change (at, workspace, session, record, token)
  VALUES (coalesce($5::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), $1, $2, $3, $4) RETURNING id`)
const ADD_WITH_CONTENT = statement('change_add_content', `
  WITH added AS (
    INSERT INTO @.change (at, workspace, session, record, token)
    VALUES (coalesce($5::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), $1, $2, $3, $4) RETURNING id, at
  ), kept AS (
    INSERT INTO @.content (digest, size, used, at, bytes) SELECT $6, $7, id, at, $8 FROM added
    ON CONFLICT (tenant, digest) DO UPDATE SET used = excluded.used, at = excluded.at
  )
  SELECT id FROM added`)
const ADDED = statement('change_added', 'SELECT id FROM @.change WHERE tenant = @TENANT AND id > $1 AND token = $2')
const LIST = statement('change_list', `
  SELECT id, at, workspace, session, record FROM @.change
  WHERE tenant = @TENANT AND id > $1 AND ($2::text IS NULL OR session = $2) AND ($3::text IS NULL OR workspace = $3) ORDER BY id`)
const CONTENT = statement('change_content', 'SELECT bytes FROM @.content WHERE tenant = @TENANT AND digest = $1')
const DROP_OLD = statement('content_drop_old', `
  DELETE FROM @.content WHERE tenant = @TENANT AND at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint`)
const DROP_MOST = statement('content_drop_most', `
  DELETE FROM @.content WHERE tenant = @TENANT AND digest IN (
    SELECT digest FROM (
      SELECT digest, sum(size) OVER (ORDER BY used DESC, digest) AS total FROM @.content WHERE tenant = @TENANT
    ) AS sums WHERE total > $1)`)
const DROP_CHANGES = statement('change_drop', `
  DELETE FROM @.change WHERE tenant = @TENANT AND id <= (
    SELECT id FROM @.change WHERE tenant = @TENANT ORDER BY id DESC OFFSET $1 LIMIT 1)`)

/** Content is dropped after each of these shares of the limit. */
const PRUNE_SHARE = 1 / 16
/** How much of the limit is left in use, so that not every write drops something. */
const KEPT_SHARE = 0.9

/** What calls of all hosts changed, for undo. */
export class ChangeLog implements ChangeStore {
  readonly #database: Database
  readonly #limits: ChangeLimits
  #addedBytes = Infinity
  #known = 0

  constructor(database: Database, limits: Partial<ChangeLimits> = {}) {
    this.#database = database
    this.#limits = { ...CHANGE_LIMITS, ...limits }
  }

  async add(change: NewChange, content?: Uint8Array, at?: number): Promise<number> {
    const { workspace, sessionId, ...rest } = change
    const [outermost] = change.delegatedBy ?? []
    const digest = digestOf(change)
    const record = JSON.stringify(outermost ? { ...rest, sessionId } : rest)
    const token = newRevision()
    const values = [workspace, outermost?.sessionId ?? sessionId, record, token, at ?? null]
    const added = async () => {
      const found = await this.#database.query(ADDED, [this.#known, token])
      return found.length > 0 ? found : undefined
    }
    const keeps = content !== undefined && digest !== undefined
    const [row] = keeps
      ? await this.#database.queryOnce(ADD_WITH_CONTENT, [...values, digest, content.length, content], added)
      : await this.#database.queryOnce(ADD, values, added)
    if (keeps) await this.#grow(content.length)
    this.#known = Number(row!['id'])
    return this.#known
  }

  async list({ sessionId, workspace, after = 0 }: ChangeFilter): Promise<readonly RecordedChange[]> {
    const rows = await this.#database.query(LIST, [Math.min(after, Number.MAX_SAFE_INTEGER), sessionId ?? null, workspace ?? null])
    return rows.map((row) => ({
      id: Number(row['id']), at: Number(row['at']), workspace: String(row['workspace']),
      sessionId: String(row['session']), ...JSON.parse(String(row['record'])) as object,
    }) as RecordedChange)
  }

  async content(digest: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#database.query(CONTENT, [digest])
    return row && new Uint8Array(row['bytes'] as Buffer)
  }

  /** With the first content of a process, and then from time to time. */
  async #grow(bytes: number): Promise<void> {
    const { totalBytes, ageMs, changes } = this.#limits
    this.#addedBytes += bytes
    if (this.#addedBytes <= totalBytes * PRUNE_SHARE) return
    this.#addedBytes = 0
    await this.#database.query(DROP_OLD, [ageMs])
    await this.#database.query(DROP_MOST, [Math.floor(totalBytes * KEPT_SHARE)])
    await this.#database.query(DROP_CHANGES, [changes])
  }
}

function digestOf(change: NewChange): string | undefined {
  if (change.kind === 'effect') return change.digest
  return change.kind === 'file' && change.before.kind === 'file' ? change.before.digest ?? undefined : undefined
}
