import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import type { Job, PgBoss } from 'pg-boss'
import { jobsSchema, type Database, type Row, type Value } from '../connection/database.ts'
import { alone, unnamed } from '../schema.ts'
import { lease, OWN } from './worker-statements.ts'

/** A job as it was fetched. pg-boss settles nothing that someone else has fetched since. */
export interface FetchedJob {
  readonly queue: string
  readonly id: string
  readonly retryCount: number
}

/** A call whose lease came with its job. */
export interface TakenCall {
  readonly id: string
  readonly epoch: number
  readonly ticket: string
  readonly body: Uint8Array
  readonly tenant: string
  /** Whose turn it was. */
  readonly group: string
  readonly job: FetchedJob
}

/** What a job of ours says: which call waits, and in which epoch. Beside it is what the lease brought. */
type CallJob = Job<{ readonly id: string }> & {
  readonly tenant: string
  readonly epoch: number | null
  readonly ticket: string
  readonly body: Uint8Array
}

/** Who takes a call. */
export interface Taker {
  readonly worker: string
  readonly term: number
  /** The calls that it knows. */
  readonly ids: () => readonly string[]
}

/** How long jobs of calls that are over wait for others. */
const COMPLETE_MS = 100

/** The queues of pg-boss, over the connections of the store. Only workers need it: callers write their jobs in SQL. */
export class Jobs {
  readonly #database: Database
  readonly #boss: PgBoss
  #over: FetchedJob[] = []
  #timer: NodeJS.Timeout | undefined

  private constructor(database: Database, boss: PgBoss) {
    this.#database = database
    this.#boss = boss
  }

  /** Loads pg-boss, and makes its tables if there are none. */
  static async start(database: Database): Promise<Jobs> {
    const { PgBoss } = await bossPackage()
    const executeSql = async (text: string, values: readonly unknown[] = []) =>
      ({ rows: [...await database.query(unnamed(text), values as readonly Value[])] })
    // A role of workers changes no tables, and maintenance has its own.
    const { isPool } = database
    const boss = new PgBoss({
      schema: jobsSchema(database.url.schema), schedule: false, db: { executeSql }, migrate: !isPool, supervise: !isPool,
    })
    // What it does by itself it tries again. What fails for a call is an error of that call.
    boss.on('error', () => undefined)
    await (isPool ? boss.start() : alone(database, () => boss.start()))
    return new Jobs(database, boss)
  }

  /** Takes up to `most` calls of a queue. `passed`: groups whose turn it is not. */
  async take(queue: string, most: number, taker: Taker, passed: readonly string[] = []): Promise<readonly TakenCall[]> {
    const executeSql = async (text: string, values: readonly unknown[] = []) => {
      const statement = lease(`lease ${queue} ${most} ${values.length}`, text, values.length)
      const all = [...values as readonly Value[], taker.worker, taker.term]
      return { rows: [...await this.#database.queryOnce(statement, all, () => this.#lost(taker))] }
    }
    return this.#taken(await this.#boss.fetch(queue, {
      batchSize: most, db: { executeSql }, ...(passed.length > 0 && { ignoreGroups: [...passed] }),
    }) as unknown as readonly CallJob[])
  }

  /** The calls that the store holds for a worker that does not know them. */
  async own(taker: Taker): Promise<readonly TakenCall[]> {
    return this.#taken(await this.#own(taker) as unknown as readonly CallJob[])
  }

  /**
   * The call of the job is over. Nothing waits for its job, so that one statement completes many. The login of a pool
   * sees the job only until its caller has forgotten the call.
   */
  done(job: FetchedJob): void {
    this.#over.push(job)
    this.#timer ??= setTimeout(() => void this.#completeOver(), this.#database.isPool ? 0 : COMPLETE_MS).unref()
  }

  /** A job that stays is completed by a sweep. */
  async complete(jobs: readonly FetchedJob[]): Promise<void> {
    for (const [queue, own] of Map.groupBy(jobs, (job) => job.queue)) {
      await this.#boss.complete(queue, own).catch(() => undefined)
    }
  }

  /** Once, what pg-boss does from time to time: jobs that are old or too late end. */
  async maintain(): Promise<void> {
    await this.#boss.supervise()
  }

  async stop(): Promise<void> {
    await this.#completeOver()
    await this.#boss.stop({ graceful: false })
  }

  async #completeOver(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.complete(this.#over.splice(0))
  }

  /** undefined: the statement whose answer was lost took nothing. */
  async #lost(taker: Taker): Promise<readonly Row[] | undefined> {
    const rows = await this.#own(taker)
    return rows.length > 0 ? rows : undefined
  }

  #own({ worker, term, ids }: Taker): Promise<readonly Row[]> {
    return this.#database.query(OWN, [worker, term, ids()])
  }

  #taken(jobs: readonly CallJob[]): readonly TakenCall[] {
    return jobs.flatMap(({ id, name, retryCount, data, groupId, tenant, epoch, ticket, body }) => {
      const job = { queue: name, id, retryCount }
      if (epoch !== null) return [{ id: data.id, epoch, ticket, body, tenant, group: groupId ?? '', job }]
      // The call is over, or its deadline has passed.
      this.done(job)
      return []
    })
  }
}

/** Is not a dependency: most users have no workers. Rejects with ConfigInvalid if it is not installed. */
async function bossPackage(): Promise<typeof import('pg-boss')> {
  try {
    return await import('pg-boss')
  } catch (error) {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new BulkheadError('ConfigInvalid', 'Workers need a package that is not installed. '
      + `Run: npm install pg-boss@12.35.0 (${messageOf(error).split('\n')[0]})`)
  }
}
