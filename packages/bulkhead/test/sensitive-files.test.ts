import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHost, type ApprovalRequest, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

const READER = `export default { tools: {
  wide: { execute: ({ path }, { fs }) => fs.readText(path) },
  named: { execute: ({ path }, { fs }) => fs.readText(path) },
} }`

let folder: string
let host: Host
let session: Session
let asked: ApprovalRequest[] = []
let answer: 'reject' | 'session' = 'reject'
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-sensitive-')))
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(join(workspace, 'docs'), { recursive: true })
  for (const path of ['.env', 'docs/.env.local', 'a.txt']) writeFileSync(join(workspace, path), 'KEY=1\n')
  symlinkSync('../.env', join(workspace, 'docs/notes.md'))
  writeExtension(home, {
    id: 'reader',
    tools: [
      { name: 'wide', gated: false, mode: 'read', requires: { fs: { read: ['{workspace}/**'] } } },
      { name: 'named', gated: false, mode: 'read', requires: { fs: { read: ['{workspace}/.env*'] } } },
    ],
  }, READER)
  host = await createHost({ workspace, home, cache: CACHE, env: {}, config: IN_THREADS })
  session = await host.openSession({
    mode: 'ask',
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: answer }
      },
    },
  })
})
beforeEach(() => {
  asked = []
  answer = 'reject'
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const call = async (name: string, args: object): Promise<string> => {
  const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
  return outcome.type === 'output' ? JSON.stringify(outcome.data) : outcome.error.code
}

describe('a file with variables', () => {
  it('is not read by a tool of a package that is not gated and does not name it', async () => {
    expect(await call('wide', { path: 'a.txt' })).toContain('KEY=1')
    for (const path of ['.env', 'docs/.env.local', 'docs/notes.md']) {
      expect([path, await call('wide', { path })]).toEqual([path, 'CapabilityDenied'])
    }
    expect(asked).toEqual([])
  })

  it('gates a tool that names it', async () => {
    expect(host.tool('named')).toMatchObject({ gated: true })
    expect(await call('named', { path: '.env' })).toBe('ApprovalDenied')
    expect(asked).toHaveLength(1)
  })

  it('is read after a question, which is about this file', async () => {
    expect(await call('read', { path: 'a.txt' })).toContain('KEY=1')
    expect(asked).toEqual([])
    for (const [path, key] of [['.env', '.env'], ['docs/.env.local', 'docs/.env.local'], ['docs/notes.md', '.env']]) {
      expect([path, await call('read', { path })]).toEqual([path, 'ApprovalDenied'])
      expect(asked.at(-1)).toMatchObject({ approvalKey: key, reasons: [expect.stringContaining('credentials')] })
    }
    answer = 'session'
    expect(await call('read', { path: '.env' })).toContain('KEY=1')
    expect(await call('read', { path: '.env' })).toContain('KEY=1')
    expect(asked).toHaveLength(4)
    answer = 'reject'
    expect(await call('read', { path: 'docs/.env.local' })).toBe('ApprovalDenied')
  })

  it('is named by glob and list, and left out by grep', async () => {
    expect(await call('glob', { pattern: '**/.env*' })).toContain('docs/.env.local')
    expect(await call('list', {})).toContain('.env')
    expect(await call('grep', { pattern: 'KEY', output_mode: 'files' })).not.toContain('.env')
    expect(await call('grep', { pattern: 'KEY', path: '.env' })).not.toContain('KEY=1')
  })

  it.each(['cat .env', 'cat docs/notes.md', 'head -n 1 docs/.env.local', 'env', 'printenv HOME'])(
    'is not printed by %s without approval',
    async (command) => {
      expect(await call('bash', { command })).toBe('ApprovalDenied')
      expect(asked).toHaveLength(1)
    },
  )
})
