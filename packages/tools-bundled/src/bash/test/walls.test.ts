// @module-tag git
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import { createHost, type Host, type Session } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox, type PooledSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../../scripts/machine.ts'
import { lookWall } from '../../../../broker/src/index.ts'
import { argumentsReaders, bundledExtensions } from '../../index.ts'
import { repositoryIn } from '../../git/test/repository.ts'

const isWalled = has('bubblewrap') || (await lookWall()).stands

let root: string
let workspace: string
let host: Host
let sandbox: PooledSandbox
let session: Session
let asked: ApprovalRequest[]

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-walls-')))
  workspace = repositoryIn(join(root, 'workspace'))
  mkdirSync(join(root, 'beside'))
  writeFileSync(join(root, 'beside/secret'), 'precious\n')
  writeFileSync(join(workspace, '.env'), 'KEY=precious\n')
  const loader = createLoader({
    coreVersion: '1.0.0', roots: { global: join(root, 'home'), projectFolder: '.bulkhead' }, bundled: bundledExtensions,
  })
  const report = await loader.load({ workspace, trust: 'declined', projectDigest: 'any' })
  sandbox = createSandbox({
    workspace, operator: { path: ['/usr/local/bin', '/usr/bin', '/bin'], env: { HOME: '/dev/null', LANG: 'C.UTF-8' } },
    spares: { process: 0, thread: 0 },
  })
  host = createHost({
    report, sandbox, store: createMemoryStore(), workspace, userData: join(root, 'home'), env: () => undefined,
    argumentsReaders,
  })
})
beforeEach(async () => {
  asked = []
  session = await host.openSession({
    mode: 'ask',
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: 'once' }
      },
    },
  })
})
afterAll(async () => {
  await host.close()
  await sandbox.close()
  rmSync(root, { recursive: true })
})

const bash = (command: string): Promise<Outcome> =>
  session.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
const keys = (): readonly string[] => asked.map(({ approvalKey }) => approvalKey)
const noted = (stopped: string, again: string) => ({
  data: { stopped_by: stopped, note: expect.stringContaining(again) as string },
})

describe('a command that its wall stopped', needs('bubblewrap', 'git'), () => {
  it('says so, and asks for the work wall the next time', async () => {
    const line = 'git log --output=changes.txt'
    expect(await bash(line)).toMatchObject(noted('look', 'Run the same command again to ask for the work wall'))
    expect([keys(), existsSync(join(workspace, 'changes.txt'))]).toEqual([[], false])
    expect(await bash(line)).toMatchObject({ data: { exit_code: 0 } })
    expect([keys(), readFileSync(join(workspace, 'changes.txt'), 'utf8')]).toEqual([
      [`[effects] ${line}`], expect.stringContaining('first'),
    ])
  })

  it('asks to run without a wall after the work wall', async () => {
    const line = 'cat ../beside/secret'
    expect(await bash(line)).toMatchObject(noted('work', 'without a wall'))
    expect(await bash(line)).toMatchObject({ data: { stdout: 'precious\n' } })
    expect(keys()).toEqual([`[effects] ${line}`, `[open] [effects] ${line}`])
    expect(asked[1]!.touches.at(-1)).toContain('without a wall')
    expect(asked[1]!.reasons.join()).toContain('without a wall')
  })

  it('writes nothing outside the workspace until then', async () => {
    expect(await bash('touch ../beside/new')).toMatchObject(noted('work', 'without a wall'))
    expect(existsSync(join(root, 'beside/new'))).toBe(false)
  })

  it('sees other processes only without a wall', async () => {
    expect(await bash('ps -e')).toMatchObject(noted('work', 'without a wall'))
    await bash('ps -e')
    expect(keys()).toEqual(['ps', '[open] ps'])
  })
})

it('a command that only fails has no note', WALLS, async () => {
  const outcome = await bash('ls nowhere')
  expect(outcome).toMatchObject({ data: { exit_code: 2 } })
  expect(outcome).not.toHaveProperty('data.note')
  expect(asked).toEqual([])
})

it.each<[string, string]>([
  ['cat .env', '.env'], ['cat < .env', '.env'], ['head -n 1 .env', '[effects] head -n 1 .env'],
  ['for f in .env; do cat "$f"; done', '[shell] for f in .env; do cat "$f"; done'],
])('%s asks, and shows the file once approved', WALLS, async (command, key) => {
  expect(await bash(command)).toMatchObject({ data: { stdout: 'KEY=precious\n' } })
  expect(keys().map((one) => one.replace('[open] ', ''))).toEqual([key])
})

it('explain names the wall', WALLS, async () => {
  const explained = async (command: string) =>
    (await session.explain({ id: 'e', name: 'bash', arguments: { command } })).wall
  const work = isWalled ? 'work' : 'open'
  expect([await explained('ls -la'), await explained('npm test'), await explained('ls')]).toEqual([
    { wall: isWalled ? 'look' : 'open' }, { wall: work }, { wall: isWalled ? 'look' : 'open' },
  ])
})
