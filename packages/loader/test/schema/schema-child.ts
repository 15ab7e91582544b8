/**
 * Runs in a child process with a compile cache: prints how many files the schema thread added before its first answer.
 */
import { readdirSync } from 'node:fs'
import { flushCompileCache, getCompileCacheDir } from 'node:module'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { WorkerSchemaChecker } from '../../src/schema/schema-checker.ts'

const kept = (): number => readdirSync(getCompileCacheDir()!).length

flushCompileCache()
const before = kept()
const { ok } = await new WorkerSchemaChecker(LOADER_LIMITS).inspect({ type: 'object' })
process.stdout.write(JSON.stringify({ ok, added: kept() - before }))
