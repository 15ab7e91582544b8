import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { SchemaFault as ReadingFault } from '@bulkhead/kit/schema'

/** What is wrong with a schema, or with a value that was checked with it. */
export interface SchemaFault extends ReadingFault {
  /** Nothing is known to be wrong: there was no thread to find out in. */
  readonly noThread?: true
}

/** Whether a schema can be used, and if not, why. */
export type SchemaVerdict =
  /** `unknownKeywords` say nothing, and may be slips. */
  | { readonly ok: true; readonly subschemas: number; readonly unknownKeywords?: readonly SchemaFault[] }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

/** Says of schemas whether they can be used, and of values whether they satisfy one. Contract: never rejects. */
export interface SchemaJudge {
  /** `runsPatterns` is false where a pattern that cannot run is shown to a model and not run. */
  inspect(schema: JsonObject, runsPatterns?: boolean): Promise<SchemaVerdict>
  /** What is wrong with the value, or with the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}
