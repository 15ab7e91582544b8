/** The thread that strangers' schemas are compiled in. Whoever started it ends it when an answer takes too long. */
import { flushCompileCache } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { parentPort } from 'node:worker_threads'
import type { SchemaAnswer, SchemaMessage, SchemaQuestion } from './protocol.ts'
import { SchemaCompiler } from './schema-compiler.ts'

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

flushCompileCache()
// Its modules are loaded, and strangers are heard from here on.
process.permission.drop('fs')
parentPort?.on('message', (question: SchemaQuestion) => say({ answer: answer(question) }))
say({})
