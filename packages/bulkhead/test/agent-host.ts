import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach } from 'vitest'
import { createHost, type CreateHostOptions, type Host, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'

export let base: string
export let workspace: string
export let host: Host

/** Gives each test of a file a folder, and closes the host that it started. */
export function useAgentHost(): void {
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-agents-')))
    workspace = join(base, 'workspace')
    for (const name of ['workspace/src', 'workspace/docs', 'library']) mkdirSync(join(base, name), { recursive: true })
    for (const name of ['workspace/src/a.ts', 'workspace/docs/b.md', 'library/c.txt'])
      writeFileSync(join(base, name), `needle in ${name}\n`)
  })
  afterEach(async () => {
    await host.close()
    rmSync(base, { recursive: true })
  })
}

export async function start(options: Partial<CreateHostOptions> = {}) {
  host = await createHost({
    workspace, home: join(base, 'home'), cache: CACHE, trust: 'trusted', config: { mode: 'yolo' }, ...options,
  })
  return host
}

export function save(path: string, content: Json | string) {
  const file = join(base, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

export async function opened(options: SessionOptions) {
  const session = await host.openSession(options)
  const run = async (name: string, args: JsonObject) => {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    return outcome.type === 'output' ? 'done' : `${outcome.error.code}: ${outcome.error_text}`
  }
  return {
    session, run,
    explain: (name: string, args: JsonObject) => session.explain({ id: 'explained', name, arguments: args }),
  }
}
