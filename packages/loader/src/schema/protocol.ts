import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaFault, SchemaVerdict } from './schema-judge.ts'

/** With a value: whether the value satisfies the schema. Without: whether the schema can be used. */
export interface SchemaQuestion {
  readonly id: number
  readonly limits: LoaderLimits
  readonly schema: JsonObject
  readonly runsPatterns: boolean
  readonly value?: Json
}

export interface SchemaAnswer {
  readonly id: number
  readonly verdict: SchemaVerdict
  /** What is wrong with the value. */
  readonly fault?: SchemaFault
}

/** What the thread says: first that it is ready, then one answer for each question. */
export interface SchemaMessage {
  /** Absent: it is ready. */
  readonly answer?: SchemaAnswer
  /** The processor time that the thread has used since it began. */
  readonly cpuMs: number
}
