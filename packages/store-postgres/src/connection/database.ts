import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { BulkheadError, WORKER_LIMITS } from '@bulkhead/contract'
import { storeClosed, storeError } from '@bulkhead/store/records'
import { readPassword, tlsOptions } from './credentials.ts'
import { isDuplicate, isHung, isUnanswered, postgresError } from './postgres-error.ts'
import type { StoreUrl } from './store-url.ts'
import { isPoolRole, requireTenantName, tenantOf } from './tenant.ts'

/**
 * A statement with a name is prepared once for each connection. `@.` stands for the schema, `@JOBS.` for that of pg-boss,
 * `@TENANT` for the tenant that the host belongs to, and `@GONE` for the age of a heartbeat that is too old.
 */
export interface Statement {
  readonly name: string
  readonly text: string
}

export const statement = (name: string, text: string): Statement => ({ name, text })

export type Value = string | number | bigint | boolean | null | Uint8Array | readonly Value[]
export type Row = Readonly<Record<string, unknown>>
export type Run = (statement: Statement, values?: readonly Value[]) => Promise<readonly Row[]>

/** How long each part of a use may take. */
export interface DatabaseTimes {
  readonly connectMs: number
  /** Of one statement, on the server. The client waits a little longer. */
  readonly statementMs: number
  /** How long an operation waits for a server that cannot be reached, before later ones fail at once. */
  readonly patienceMs: number
  readonly beatMs: number
  /** A host whose heartbeat is older than this is gone, for all hosts alike: the server compares its own clock. */
  readonly goneMs: number
  /** Before a host judges others, it was itself able to renew its heartbeat for this long: so were they. */
  readonly calmMs: number
  /** How long a worker that does not answer keeps its calls. It renews its lease each fifth of it. */
  readonly leaseMs: number
  /** How long a connection stays that nothing uses, and a host of a tenant without a session keeps its seat. */
  readonly idleMs: number
}

const TIMES: DatabaseTimes = {
  connectMs: 5_000, statementMs: 10_000, patienceMs: 5_000, beatMs: 2_000, goneMs: 15_000, calmMs: 6_000,
  leaseMs: WORKER_LIMITS.leaseMs, idleMs: 30_000,
}
/** Where pg-boss has its tables. */
export const jobsSchema = (schema: string): string => `${schema}_jobs`

/** The server reports a late statement before the client gives up. */
const ANSWER_MS = 1_000
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 1_000
const CLOSE_MS = 2_000
/** A new key can be written by two hosts at once while the tables have both their old keys and those with the tenant. */
const MOST_RACES = 3
/** Of one host. What waits for a connection waits for a few milliseconds. */
const CONNECTIONS = 5
const LONG_MS = 10 * 60_000
/** Every statement touches a few rows. For tables without statistics the server expects many, and compiled it for 0.2 s. */
const NO_COMPILER = '-c jit=off'

/** The library leaves a connection open if it cannot send the password, and the server waits for it for a minute. */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    this.connection.on('error', () => this.connection.stream.destroy())
  }
}

/**
 * The connections of one host. A statement whose answer was lost is sent again, so every statement can run twice, or
 * says so by `once`. After a server was out of reach for long, uses fail at once until it answers again.
 */
export class Database {
  readonly url: StoreUrl
  readonly times: DatabaseTimes
  /** Empty: the main one. */
  readonly tenant: string
  /** It is the login of workers or of maintenance, which change no tables. */
  readonly isPool: boolean
  readonly #pool: pg.Pool
  readonly #clients = new Set<pg.PoolClient>()
  readonly #texts = new Map<string, string>()
  #secret: string | undefined
  /** Set while the server is out of reach for longer than an operation waits. */
  #outage: { readonly fault: unknown; nextTry: number; pauseMs: number } | undefined
  #closing: Promise<void> | undefined

  /** Throws ConfigInvalid or StoreUnavailable for files that cannot be read. */
  constructor(url: StoreUrl, times: Partial<DatabaseTimes> = {}) {
    this.url = url
    this.tenant = tenantOf(url.schema, url.user)
    if (this.tenant !== '') requireTenantName(url.schema, this.tenant)
    this.isPool = isPoolRole(url.schema, url.user)
    this.times = { ...TIMES, ...times }
    this.#pool = new pg.Pool({
      ...this.clientOptions(), Client, max: CONNECTIONS, idleTimeoutMillis: this.times.idleMs, allowExitOnIdle: true,
    })
    // A connection that fails while nothing uses it is replaced by the next use.
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => this.#clients.add(client))
    this.#pool.on('remove', (client) => this.#clients.delete(client))
  }

  /** Of each connection. */
  clientOptions(): pg.ClientConfig {
    const { host, port, database, user, applicationName, options } = this.url
    const { connectMs, statementMs } = this.times
    return {
      host, port, database, user, application_name: applicationName,
      options: options === undefined ? NO_COMPILER : `${NO_COMPILER} ${options}`,
      password: () => this.#readPassword(),
      ssl: tlsOptions(this.url),
      connectionTimeoutMillis: connectMs, statement_timeout: statementMs, query_timeout: statementMs + ANSWER_MS,
      keepAlive: true, keepAliveInitialDelayMillis: 10_000,
    }
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /** Whether the last use found the server. */
  get reachable(): boolean {
    return this.#outage === undefined
  }

  /** Runs one statement, in one round trip. It may run twice if its answer is lost. */
  query(what: Statement, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#patiently(() => this.#send(this.#pool, what, values))
  }

  /** The same, but after a lost answer `recover` tells what became of it: undefined if it had no effect. */
  queryOnce(
    what: Statement, values: readonly Value[], recover: () => Promise<readonly Row[] | undefined>,
  ): Promise<readonly Row[]> {
    let isSent = false
    return this.#patiently(async () => {
      const known = isSent ? await recover() : undefined
      if (known) return known
      isSent = true
      return this.#send(this.#pool, what, values)
    })
  }

  /** Runs statements in one transaction. `work` runs again if the answer to one is lost. `isLong`: it may take minutes. */
  transaction<T>(work: (run: Run) => Promise<T>, isLong = false): Promise<T> {
    return this.#patiently(async () => {
      const client = await this.#pool.connect().catch((error: unknown) => { throw this.fault(error) })
      try {
        const waitMs = isLong ? LONG_MS : undefined
        await client.query(isLong ? `BEGIN; SET LOCAL statement_timeout = ${LONG_MS}` : 'BEGIN')
        const result = await work((what, values) => this.#send(client, what, values, waitMs))
        await client.query('COMMIT')
        client.release()
        return result
      } catch (error) {
        // The server rolls back what a closed connection began.
        client.release(true)
        throw BulkheadError.is(error) ? error : this.fault(error)
      }
    })
  }

  /** A connection of its own, for notifications. */
  connectAlone(): pg.Client {
    return new pg.Client(this.clientOptions())
  }

  /** The text of a statement, complete. */
  textOf({ name, text }: Statement): string {
    const complete = () => text.replaceAll('@.', `"${this.url.schema}".`)
      .replaceAll('@JOBS.', `${jobsSchema(this.url.schema)}.`).replaceAll('@TENANT', `'${this.tenant}'`)
      .replaceAll('@GONE', `${this.times.goneMs} ms`)
    return name === '' ? complete() : this.#texts.getOrInsertComputed(name, complete)
  }

  fault(error: unknown): BulkheadError {
    return postgresError(error, this.url.shown, this.#secret)
  }

  /** Waits for what runs, but not for a server that does not answer. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const ended = this.#pool.end()
    const late = new AbortController()
    await Promise.race([ended, pause(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)])
    late.abort()
    this.#dropConnections()
  }

  /** When one does not answer, the others do not either: a network or a server that stands still closes none. */
  #dropConnections(): void {
    for (const client of this.#clients) client.connection.stream.destroy()
  }

  async #send(on: pg.Pool | pg.PoolClient, what: Statement, values: readonly Value[] = [], waitMs?: number) {
    try {
      const result: pg.QueryResult | readonly pg.QueryResult[] = await on.query({
        name: what.name, text: this.textOf(what), values: values as Value[],
        ...(waitMs !== undefined && { query_timeout: waitMs }),
      })
      return [result].flat().flatMap((one) => one.rows as readonly Row[])
    } catch (error) {
      throw this.fault(error)
    }
  }

  /** Tries again while the server cannot be reached, with a growing pause. */
  async #patiently<T>(attempt: () => Promise<T>): Promise<T> {
    if (this.closed) throw storeClosed()
    const outage = this.#outage
    if (outage) {
      const now = performance.now()
      if (now < outage.nextTry) throw outage.fault
      outage.pauseMs = Math.min(outage.pauseMs * 2, LONGEST_PAUSE_MS)
      outage.nextTry = now + outage.pauseMs
    }
    const end = performance.now() + (outage ? 0 : this.times.patienceMs)
    let races = 0
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = await attempt()
        this.#outage = undefined
        return result
      } catch (error) {
        if (isDuplicate(error) && races++ < MOST_RACES) continue
        const isSilent = isHung(error)
        if (isSilent) this.#dropConnections()
        if (!isUnanswered(error) && !isSilent) throw error
        if (isSilent || performance.now() + pauseMs >= end || this.closed) {
          this.#outage ??= { fault: error, nextTry: 0, pauseMs: FIRST_PAUSE_MS }
          throw error
        }
      }
      // Random, so that hosts do not come back all at once.
      await pause(pauseMs * (0.5 + Math.random()))
    }
  }

  async #readPassword(): Promise<string> {
    const password = readPassword(this.url)
    if (password === undefined) {
      throw storeError('denied', `The store ${this.url.shown} asks for a password. Name a file with passwordfile or passfile.`)
    }
    this.#secret = password
    return password
  }
}
