import type { Json, JsonObject } from '@bulkhead/contract'
import type { SchemaVerdict } from './schema-compiler.ts'
import type { SchemaFault } from './schema-rules.ts'

/** Says of schemas whether they can be used, and of values whether they satisfy one. Contract: never rejects. */
export interface SchemaJudge {
  /** `checksValues` is false for a schema that is only told to a model: its patterns never run. */
  inspect(schema: JsonObject, checksValues?: boolean): Promise<SchemaVerdict>
  /** What is wrong with the value, or with the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}
