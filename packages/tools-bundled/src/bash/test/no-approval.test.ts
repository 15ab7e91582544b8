// @module-tag git
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_COMMAND_WALLS, type ApprovalRequest, type Outcome } from '@bulkhead/contract'
import { createHost, type Host, type Session } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox, type PooledSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { argumentsReaders, bundledExtensions } from '../../index.ts'
import { needs } from '../../../../../scripts/machine.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { NEED_A_WALL, READ_ONLY, WITHOUT_OPTIONS } from './corpus/judged-commands.ts'

let root: string
let workspace: string
let host: Host
let sandbox: PooledSandbox
let session: Session
let asked: ApprovalRequest[]
/** Whether the host knows of a file wall around commands. */
let isWalled = true

const git = (...args: readonly string[]) =>
  spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: workspace, encoding: 'utf8' })

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-unasked-')))
  workspace = join(root, 'workspace')
  mkdirSync(join(workspace, 'src'), { recursive: true })
  mkdirSync(join(workspace, 'bin'))
  for (const [name, content] of Object.entries({
    'a.txt': 'a foo\nb\n', 'b.txt': 'a foo\nc\n', 'src/x.ts': 'foo\n', 'src/with space.ts': 'foo two\n',
    'package.json': '{"name":"p"}\n',
  })) {
    writeFileSync(join(workspace, name), content)
  }
  writeFileSync(join(root, 'secret.ts'), 'foo precious\n')
  // Other programs must not find this program by name. Without a sandbox it would create a file.
  writeFileSync(join(workspace, 'bin/md5sum'), `#!/bin/sh\necho evil; touch ${root}/pwned\n`, { mode: 0o755 })
  symlinkSync(join(root, 'secret.ts'), join(workspace, 'src/link.ts'))
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
  spawnSync('tar', ['czf', 'x.tgz', 'a.txt'], { cwd: workspace })
  const loader = createLoader({
    coreVersion: '1.0.0', roots: { global: join(root, 'home'), projectFolder: '.bulkhead' }, bundled: bundledExtensions,
  })
  const report = await loader.load({ workspace, trust: 'declined', projectDigest: 'any' })
  const env = { HOME: '/dev/null', LANG: 'C.UTF-8' }
  sandbox = createSandbox({
    workspace, operator: { path: [join(workspace, 'bin'), '/usr/local/bin', '/usr/bin', '/bin'], env },
  })
  const here = { ...sandbox, commandWalls: async () => isWalled ? await sandbox.commandWalls() : NO_COMMAND_WALLS }
  host = createHost({
    report, sandbox: here, store: createMemoryStore(), workspace, userData: join(root, 'home'), env: () => undefined,
    argumentsReaders,
  })
  session = await host.openSession({
    mode: 'ask',
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: 'reject' }
      },
    },
  })
})
beforeEach(() => {
  asked = []
  isWalled = true
})
afterAll(async () => {
  await host.close()
  await sandbox.close()
  rmSync(root, { recursive: true })
})

const call = (name: string, args: object): Promise<Outcome> =>
  session.call({ id: crypto.randomUUID(), name, arguments: args })
const bash = (command: string): Promise<Outcome> => call('bash', { command })
const codeOf = (outcome: Outcome): string => outcome.type === 'output' ? 'output' : outcome.error.code

describe('in mode ask, read-only commands inside the workspace run without approval', needs('bubblewrap'), () => {
  // Every fourth one. `pnpm soak` runs all of them.
  it.each(READ_ONLY.filter((_, at) => at % thoroughly(4, 1) === 0))('%s runs unasked', async (command, result) => {
    const outcome = await bash(command)
    expect([codeOf(outcome), asked]).toEqual(['output', []])
    expect(outcome).toMatchObject({ data: result })
    expect(existsSync(join(root, 'pwned'))).toBe(false)
  })

  it.each(['git diff', 'git status', 'git diff HEAD'])(
    '%s does not follow a path of the index out of the workspace',
    async (command) => {
      const index = join(workspace, '.git/index')
      const before = readFileSync(index)
      const bytes = Buffer.from(before)
      bytes.write('../secret.ts', bytes.indexOf('package.json'))
      const body = bytes.subarray(0, -20)
      writeFileSync(index, Buffer.concat([body, hash('sha1', body, 'buffer')]))
      try {
        expect(JSON.stringify(await bash(command))).not.toContain('precious')
      } finally {
        writeFileSync(index, before)
      }
    },
  )

  it('git asks only before it changes something', async () => {
    const reads = [
      { action: 'status' }, { action: 'diff', paths: ['a.txt'] }, { action: 'log' }, { action: 'show' },
      { action: 'branch' },
    ]
    for (const args of reads.filter((_, at) => at % thoroughly(4, 1) === 0))
      expect([codeOf(await call('git', args)), asked]).toEqual(['output', []])
    for (const args of [
      { action: 'add', paths: ['x.tgz'] }, { action: 'commit', message: 'm' }, { action: 'branch', name: 'x' },
    ]) {
      expect(codeOf(await call('git', args))).toBe('ApprovalDenied')
    }
    expect(asked.map(({ approvalKey }) => approvalKey)).toEqual(['git add', 'git commit', 'git branch'])
  })

  it('grep and glob run without approval', async () => {
    expect([
      codeOf(await call('grep', { pattern: 'foo' })), codeOf(await call('glob', { pattern: '**/*.ts' })), asked,
    ]).toEqual(['output', 'output', []])
  })
})

describe('where no file wall stands, in mode ask', () => {
  beforeEach(() => {
    isWalled = false
  })
  const explain = async (name: string, args: object) => {
    const { decision, chain } = await session.explain({ id: crypto.randomUUID(), name, arguments: args })
    return [decision, chain.some(({ reason }) => reason.includes('no file wall stands around commands'))]
  }

  it('a link that leads out of the workspace is refused', async () => {
    expect(await bash('cat src/link.ts')).toMatchObject({ error: { code: 'CapabilityDenied' } })
  })

  it.each(WITHOUT_OPTIONS)('%s runs unasked, because it has no options', async (command) => {
    expect(await explain('bash', { command })).toEqual(['allow', false])
    expect([codeOf(await bash(command)), asked]).toEqual(['output', []])
  })

  it.each(NEED_A_WALL)('%s asks', async (command) => {
    expect(await explain('bash', { command })).toEqual(['ask', true])
    expect([codeOf(await bash(command)), asked.length]).toEqual(['ApprovalDenied', 1])
  })

  it('the tool git asks', async () => {
    expect(await explain('git', { action: 'log' })).toEqual(['ask', true])
    expect([codeOf(await call('git', { action: 'log' })), asked.length]).toEqual(['ApprovalDenied', 1])
  })
})
