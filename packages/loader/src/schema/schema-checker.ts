import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaCompiler, SchemaFault, SchemaJudge, SchemaVerdict } from './schema-compiler.ts'
import { SchemaThread } from './schema-worker-client.ts'

/** So many verdicts are kept; loading again, and the many schemas that are alike, cost nothing. */
const REMEMBERED = 4_096

/** One for all loaders of the process: it takes longer to start than most schemas take to compile. */
const thread = new SchemaThread()

/** Judges strangers' schemas by one loader's limits, each once. */
export class SchemaCourt implements SchemaJudge {
  readonly #limits: LoaderLimits
  readonly #verdicts = new Map<string, Promise<SchemaVerdict>>()

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  inspect(schema: JsonObject, runsPatterns = true): Promise<SchemaVerdict> {
    const key = sha512(`${runsPatterns} ${canonicalJson(schema)}`)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = thread.ask({ limits: this.#limits, schema, runsPatterns }).then((answer) => {
      if (!answer.verdict.ok && answer.verdict.faults[0].noThread) this.#verdicts.delete(key)
      return answer.verdict
    })
    if (this.#verdicts.size >= REMEMBERED) this.#verdicts.delete(this.#verdicts.keys().next().value!)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const { verdict, fault } = await thread.ask({ limits: this.#limits, schema, runsPatterns: true, value })
    return verdict.ok ? fault : verdict.faults[0]
  }
}

/**
 * Judges schemas of what ships with the host, by the same rules as any. Its code runs in the host itself: a thread would keep
 * nothing of it out, and takes longer to start than these take to compile.
 */
export class OwnSchemas implements SchemaJudge {
  readonly #limits: LoaderLimits
  #made: SchemaCompiler | undefined

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  async inspect(schema: JsonObject, runsPatterns = true): Promise<SchemaVerdict> {
    return (await this.#compiler()).inspect(schema, runsPatterns)
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const compiled = (await this.#compiler()).compile(schema)
    return compiled.ok ? compiled.validate(value) : compiled.faults[0]
  }

  /** Loaded with the first question; after a warm start there is none. */
  async #compiler(): Promise<SchemaCompiler> {
    const loaded = await import('./schema-compiler.ts')
    this.#made ??= new loaded.SchemaCompiler(this.#limits)
    return this.#made
  }
}
