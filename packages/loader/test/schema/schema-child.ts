/**
 * Runs in a child process with a compile cache: prints how many files the schema thread added before its first answer.
 */
import { readdirSync } from 'node:fs'
import { flushCompileCache, getCompileCacheDir } from 'node:module'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { SchemaWorkerClient } from '../../src/schema/schema-checker.ts'

const kept = (): number => readdirSync(getCompileCacheDir()!).length

flushCompileCache()
const before = kept()
const { verdict } = await new SchemaWorkerClient().request({
  limits: LOADER_LIMITS, schema: { type: 'object' }, compiles: true,
})
process.stdout.write(JSON.stringify({ ok: verdict.ok, added: kept() - before }))
