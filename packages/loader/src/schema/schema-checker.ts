import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaCompiler, SchemaFault, SchemaVerdict } from './schema-compiler.ts'
import { SchemaWorkerClient } from './schema-worker-client.ts'

/** Contract: never rejects. */
export interface SchemaChecker {
  /** Whether the schema can be used. `runsPatterns` is false for a schema that is only shown to a model. */
  inspect(schema: JsonObject, runsPatterns?: boolean): Promise<SchemaVerdict>
  /** What is wrong with the value, or with the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}

/** How many verdicts are kept, for reloads and for schemas that occur often. */
const MAX_VERDICTS = 4_096

/** Shared by all loaders of the process: the thread takes longer to start than most schemas take to compile. */
const worker = new SchemaWorkerClient()

/** Checks untrusted schemas in a worker thread, each once. */
export class WorkerSchemaChecker implements SchemaChecker {
  readonly #limits: LoaderLimits
  readonly #verdicts = new Map<string, Promise<SchemaVerdict>>()

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  inspect(schema: JsonObject, runsPatterns = true): Promise<SchemaVerdict> {
    const key = sha512(`${runsPatterns} ${canonicalJson(schema)}`)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = worker.request({ limits: this.#limits, schema, runsPatterns }).then((reply) => {
      if (!reply.verdict.ok && reply.verdict.faults[0].noThread) this.#verdicts.delete(key)
      return reply.verdict
    })
    if (this.#verdicts.size >= MAX_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const { verdict, fault } = await worker.request({ limits: this.#limits, schema, runsPatterns: true, value })
    return verdict.ok ? fault : verdict.faults[0]
  }
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

  async inspect(schema: JsonObject, runsPatterns = true): Promise<SchemaVerdict> {
    return (await this.#load()).inspect(schema, runsPatterns)
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
