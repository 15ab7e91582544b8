import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaCompiler } from './schema-compiler.ts'
import type { SchemaFault, SchemaJudge, SchemaVerdict } from './schema-judge.ts'

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
