/** Run in a process of its own that keeps compiled code: how many files of it has the thread of schemas added by its first answer? */
import { readdirSync } from 'node:fs'
import { flushCompileCache, getCompileCacheDir } from 'node:module'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { SchemaWorkerClient } from '../../src/schema/schema-worker-client.ts'

const kept = (): number => readdirSync(getCompileCacheDir()!).length

flushCompileCache()
const before = kept()
const { verdict } = await new SchemaWorkerClient().request({ limits: LOADER_LIMITS, schema: { type: 'object' }, runsPatterns: true })
process.stdout.write(JSON.stringify({ ok: verdict.ok, added: kept() - before }))
