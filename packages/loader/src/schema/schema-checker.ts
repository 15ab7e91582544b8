import { Batches } from '@bulkhead/kit/batches'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { PoolError, WorkPool, type PoolFault } from '@bulkhead/kit/pool'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaCompiler, SchemaFault, SchemaVerdict } from './schema-compiler.ts'
import type { SchemaReply, SchemaRequest } from './schema-worker.ts'

/**
 * The limit of wall-clock time for a schema, as a multiple of its CPU time: a busy machine may give the thread little.
 */
const WALL_CLOCK_FACTOR = 12

/** How many schemas are sent together: most compile in less time than a message takes. */
const TOGETHER = 64

/** All loaders of the process share a thread, which takes longer to start than most schemas take to compile. */
export const schemaPool = new WorkPool<readonly SchemaRequest[], readonly SchemaReply[]>(
  new URL('./schema-worker.ts', import.meta.url), { heapMb: 512, threads: 1, waiting: TOGETHER, tasksPerThread: 10_000 },
)

const batches = new Batches<SchemaRequest, SchemaReply>(askTogether, { most: TOGETHER })
/** A loader asks for all schemas of all its extensions at once. */
const MOST_OPEN = 100_000
let open = 0

/** Never rejects: a schema that exceeds a limit, or that could not be checked, has a fault. */
async function ask(request: SchemaRequest): Promise<SchemaReply> {
  if (open >= MOST_OPEN) return refusal(new PoolError('busy', `${MOST_OPEN} others wait already; try again later`), request)
  open++
  try {
    return await batches.add(request)
  } finally {
    open--
  }
}

/** Those of a batch that fails are asked alone, because one of them may be the cause. */
async function askTogether(requests: readonly SchemaRequest[]): Promise<readonly SchemaReply[]> {
  try {
    return await run(requests)
  } catch (error) {
    if (requests.length === 1 || isUnanswered(error)) return requests.map((request) => refusal(error, request))
    return Promise.all(requests.map(askAlone))
  }
}

async function askAlone(request: SchemaRequest): Promise<SchemaReply> {
  try {
    return (await run([request]))[0]!
  } catch (error) {
    return refusal(error, request)
  }
}

/** Together they may take as long as the most hurried of them. */
function run(requests: readonly SchemaRequest[]): Promise<readonly SchemaReply[]> {
  const cpuMs = Math.min(...requests.map(({ limits }) => limits.schemaMs))
  return schemaPool.run(requests, { cpuMs, deadlineMs: deadlineOf(cpuMs) })
}

const deadlineOf = (schemaMs: number): number => WALL_CLOCK_FACTOR * schemaMs

/** Nothing is known about any of the schemas. */
const isUnanswered = (error: unknown): boolean => error instanceof PoolError && (error.fault === 'start' || error.fault === 'busy')

function refusal(error: unknown, { limits: { schemaMs } }: SchemaRequest): SchemaReply {
  const fault: PoolFault = error instanceof PoolError ? error.fault : 'failed'
  const why = messageOf(error).replace(/\.$/, '')
  const refuse = (message: string, noThread = false): SchemaReply =>
    ({ verdict: { ok: false, faults: [{ path: '', message, ...(noThread && { noThread }) }] } })
  if (fault === 'start') return refuse(`cannot be checked: no thread can be started: ${why}`, true)
  if (fault === 'busy') return refuse(`cannot be checked: ${why}`, true)
  if (fault === 'cpu') return refuse(`takes more than ${schemaMs} ms of CPU time to compile`)
  return refuse(fault === 'deadline' ? `did not compile within ${deadlineOf(schemaMs)} ms` : `cannot be compiled: ${why}`)
}

/** Contract: never rejects. */
export interface SchemaChecker {
  /** Whether the schema can be used. `compiles` is false for a schema that is only shown to a model. */
  inspect(schema: JsonObject, compiles?: boolean): Promise<SchemaVerdict>
  /** The fault of the value, or of the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}

/** How many verdicts are kept, for reloads and for schemas that occur often. */
const MAX_VERDICTS = 4_096

/** Checks untrusted schemas in a thread without rights, each once. */
export class WorkerSchemaChecker implements SchemaChecker {
  readonly #limits: LoaderLimits
  readonly #verdicts = new Map<string, Promise<SchemaVerdict>>()

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  inspect(schema: JsonObject, compiles = true): Promise<SchemaVerdict> {
    const key = sha512(`${compiles} ${canonicalJson(schema)}`)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = ask({ limits: this.#limits, schema, compiles }).then((reply) => {
      if (!reply.verdict.ok && reply.verdict.faults[0].noThread) this.#verdicts.delete(key)
      return reply.verdict
    })
    if (this.#verdicts.size >= MAX_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const { verdict, fault } = await ask({ limits: this.#limits, schema, compiles: true, value })
    return verdict.ok ? fault : verdict.faults[0]
  }
}

/** Accepts all schemas. For bundled extensions where only their names matter: a host checks them when it loads them. */
export const UNCHECKED: SchemaChecker = {
  inspect: async () => ({ ok: true, subschemas: 0 }), check: async () => undefined,
}

/**
 * Checks the schemas of bundled extensions by the same rules, on this thread: their code runs in the host anyway, and a
 * thread takes longer to start than they take to compile.
 */
export class InProcessSchemaChecker implements SchemaChecker {
  readonly #limits: LoaderLimits
  #compiler: SchemaCompiler | undefined

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  async inspect(schema: JsonObject, compiles = true): Promise<SchemaVerdict> {
    return (await this.#load()).inspect(schema, compiles)
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const compiled = (await this.#load()).compile(schema)
    return compiled.ok ? compiled.validate(value) : compiled.faults[0]
  }

  /** Imported on first use. A start from the cache does not need it. */
  async #load(): Promise<SchemaCompiler> {
    const loaded = await import('./schema-compiler.ts')
    this.#compiler ??= new loaded.SchemaCompiler(this.#limits)
    return this.#compiler
  }
}
