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

/** All loaders of the process share a thread, which takes longer to start than most schemas take to compile. */
export const schemaPool = new WorkPool<SchemaRequest, SchemaReply>(
  new URL('./schema-worker.ts', import.meta.url),
  // A loader asks for all schemas of all its extensions at once.
  { heapMb: 512, threads: 1, waiting: 100_000, tasksPerThread: 10_000 },
)

/** Never rejects: a schema that exceeds a limit, or that could not be checked, has a fault. */
async function ask(request: SchemaRequest): Promise<SchemaReply> {
  const { schemaMs } = request.limits
  const deadlineMs = WALL_CLOCK_FACTOR * schemaMs
  try {
    return await schemaPool.run(request, { cpuMs: schemaMs, deadlineMs })
  } catch (error) {
    const fault: PoolFault = error instanceof PoolError ? error.fault : 'failed'
    const why = messageOf(error).replace(/\.$/, '')
    const refuse = (message: string, noThread = false): SchemaReply =>
      ({ verdict: { ok: false, faults: [{ path: '', message, ...(noThread && { noThread }) }] } })
    if (fault === 'start') return refuse(`cannot be checked: no thread can be started: ${why}`, true)
    if (fault === 'busy') return refuse(`cannot be checked: ${why}`, true)
    if (fault === 'cpu') return refuse(`takes more than ${schemaMs} ms of CPU time to compile`)
    return refuse(fault === 'deadline' ? `did not compile within ${deadlineMs} ms` : `cannot be compiled: ${why}`)
  }
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
