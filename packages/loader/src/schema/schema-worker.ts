/** The entry of the thread that compiles untrusted schemas. The client terminates it when a reply takes too long. */
import { flushCompileCache } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { parentPort } from 'node:worker_threads'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LoaderLimits } from '../model/limits.ts'
import { SchemaCompiler, type SchemaFault, type SchemaVerdict } from './schema-compiler.ts'

/** With a value: whether the value satisfies the schema. Without one: whether the schema can be used. */
export interface SchemaRequest {
  readonly id: number
  readonly limits: LoaderLimits
  readonly schema: JsonObject
  readonly compiles: boolean
  readonly value?: Json
}

export interface SchemaReply {
  readonly id: number
  readonly verdict: SchemaVerdict
  /** The fault of the value. */
  readonly fault?: SchemaFault
}

/** Sent once when the thread is ready, and once for each request. */
export interface SchemaWorkerMessage {
  /** Absent in the first message. */
  readonly reply?: SchemaReply
  /** CPU time of the thread since its start. */
  readonly cpuMs: number
}

let compiler: SchemaCompiler | undefined

function replyTo({ id, limits, schema, compiles, value }: SchemaRequest): SchemaReply {
  // Limits rarely change, and creating a compiler takes a few milliseconds.
  if (compiler === undefined || !isDeepStrictEqual(compiler.limits, limits)) compiler = new SchemaCompiler(limits)
  if (value === undefined) return { id, verdict: compiler.inspect(schema, compiles) }
  const compiled = compiler.compile(schema)
  if (!compiled.ok) return { id, verdict: compiled }
  const fault = compiled.validate(value)
  return { id, verdict: { ok: true, subschemas: compiled.subschemas }, ...(fault !== undefined && { fault }) }
}

function send(message: Omit<SchemaWorkerMessage, 'cpuMs'>): void {
  const { user, system } = process.threadCpuUsage()
  parentPort?.postMessage({ ...message, cpuMs: (user + system) / 1_000 } satisfies SchemaWorkerMessage)
}

export function run(): void {
  flushCompileCache()
  // All modules are loaded. From here on the thread handles untrusted input, so it gives up file access.
  process.permission.drop('fs')
  parentPort?.on('message', (request: SchemaRequest) => send({ reply: replyTo(request) }))
  send({})
}
