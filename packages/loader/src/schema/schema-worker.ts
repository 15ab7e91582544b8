/** The thread that compiles third-party schemas. `SchemaThread` ends it when an answer takes too long. */
import { flushCompileCache } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { parentPort } from 'node:worker_threads'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LoaderLimits } from '../model/limits.ts'
import { SchemaCompiler, type SchemaFault, type SchemaVerdict } from './schema-compiler.ts'

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

let compiler: SchemaCompiler | undefined

function answer({ id, limits, schema, runsPatterns, value }: SchemaQuestion): SchemaAnswer {
  // Nearly always the same limits; making a compiler costs a few milliseconds.
  if (compiler === undefined || !isDeepStrictEqual(compiler.limits, limits)) compiler = new SchemaCompiler(limits)
  if (value === undefined) return { id, verdict: compiler.inspect(schema, runsPatterns) }
  const compiled = compiler.compile(schema)
  if (!compiled.ok) return { id, verdict: compiled }
  const fault = compiled.validate(value)
  return { id, verdict: { ok: true, subschemas: compiled.subschemas }, ...(fault !== undefined && { fault }) }
}

function say(said: Omit<SchemaMessage, 'cpuMs'>): void {
  const { user, system } = process.threadCpuUsage()
  parentPort?.postMessage({ ...said, cpuMs: (user + system) / 1_000 } satisfies SchemaMessage)
}

export function run(): void {
  flushCompileCache()
  // All modules are loaded, and third-party schemas arrive from here on.
  process.permission.drop('fs')
  parentPort?.on('message', (question: SchemaQuestion) => say({ answer: answer(question) }))
  say({})
}
