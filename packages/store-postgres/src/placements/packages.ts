import { statement, type Database } from '../connection/database.ts'

/** What one statement carries. */
const CHUNK_BYTES = 1024 ** 2

const WRITE_CHUNK = statement('package_write_chunk', `
  INSERT INTO @.package_chunk (digest, number, bytes) VALUES ($1, $2, $3)
  ON CONFLICT (tenant, digest, number) DO UPDATE SET bytes = excluded.bytes`)
/** It is there when its number of chunks is. Another host may have written it meanwhile: then it stays there. */
const WRITE = statement('package_write', `
  INSERT INTO @.package (digest, chunks) VALUES ($1, $2)
  ON CONFLICT (tenant, digest) DO UPDATE SET chunks = coalesce(excluded.chunks, package.chunks), used = excluded.used`)
/** Each tenant has packages of its own. A worker reads those of the tenant whose call it has. */
const OWNER = `SELECT tenant FROM @.placed WHERE id = $2::text
  UNION ALL SELECT @TENANT WHERE $2::text IS NULL`
/** A day is exact enough, so that most uses write nothing. */
const USE = statement('package_use', `
  WITH owner AS MATERIALIZED (${OWNER}), used AS (
    UPDATE @.package SET used = current_date FROM owner
    WHERE package.tenant = owner.tenant AND digest = $1 AND used < current_date
  )
  SELECT chunks FROM @.package JOIN owner ON package.tenant = owner.tenant WHERE digest = $1 AND chunks IS NOT NULL`)
const READ_CHUNK = statement('package_read_chunk', `
  WITH owner AS MATERIALIZED (${OWNER})
  SELECT bytes FROM @.package_chunk JOIN owner ON package_chunk.tenant = owner.tenant WHERE digest = $1 AND number = $3`)

/** Packages by digest, for workers that do not have them. Who reads one checks its digest. */
export class Packages {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async has(digest: string): Promise<boolean> {
    return (await this.#database.query(USE, [digest, null])).length > 0
  }

  async write(digest: string, bytes: Uint8Array): Promise<void> {
    const chunks = Math.ceil(bytes.byteLength / CHUNK_BYTES)
    await this.#database.query(WRITE, [digest, null])
    for (let number = 0; number < chunks; number++) {
      const part = bytes.subarray(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES)
      await this.#database.query(WRITE_CHUNK, [digest, number, part])
    }
    await this.#database.query(WRITE, [digest, chunks])
  }

  async read(digest: string, call?: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#database.query(USE, [digest, call ?? null])
    if (!row) return undefined
    const parts: Buffer[] = []
    for (let number = 0; number < Number(row['chunks']); number++) {
      const [chunk] = await this.#database.query(READ_CHUNK, [digest, call ?? null, number])
      if (!chunk) return undefined
      parts.push(chunk['bytes'] as Buffer)
    }
    return Buffer.concat(parts)
  }
}
