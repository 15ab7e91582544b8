import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { machineCheck } from '../src/cli/system/doctor-checks.ts'
import { assembleHost, type AssembledHost } from '../src/facade/create-host.ts'
import { machinePolicyFile } from '../src/facade/folders.ts'
import { CACHE } from './cache.ts'

let folder: string
let opened: AssembledHost | undefined
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-machine-'))) })
afterEach(async () => {
  await opened?.host.close()
  rmSync(folder, { recursive: true })
})

async function open(policy: object | string, user: object) {
  for (const name of ['machine', 'home']) mkdirSync(join(folder, name), { mode: 0o755 })
  writeFileSync(join(folder, 'machine/policy.json'), typeof policy === 'string' ? policy : JSON.stringify(policy))
  writeFileSync(join(folder, 'home/config.json'), JSON.stringify(user))
  const machinePolicy = join(folder, 'machine/policy.json')
  opened = await assembleHost(
    { workspace: folder, home: join(folder, 'home'), machinePolicy, cache: CACHE, discover: 'when-asked' }, undefined,
  )
  return {
    host: opened.host,
    session: await opened.host.openSession({
      mode: 'yolo', rules: [{ permission: 'bash', pattern: '*', action: 'allow' }],
    }),
  }
}

it('nothing of a user loosens a machine policy, and explain names it', async () => {
  const { session } = await open(
    {
      mode: 'ask', rules: [{ permission: 'bash', action: 'deny' }],
      policy: { ceiling: { fs: { read: ['**'], write: ['{workspace}/out/**'] } } },
    },
    {
      mode: 'yolo', rules: [{ permission: '*', action: 'allow' }],
      policy: { ceiling: { fs: { read: ['**'], write: ['**'] } } },
    },
  )
  const explain = (name: string, args: Record<string, string>) => session.explain({ id: '1', name, arguments: args })
  expect(await explain('bash', { command: 'ls' })).toMatchObject({
    decision: 'deny', code: 'CapabilityDenied',
  })
  expect(await explain('write', { path: 'a.txt', content: '' })).toMatchObject({
    decision: 'deny', code: 'CapabilityDenied',
  })
  expect(machineCheck(opened!)).toEqual({
    status: 'ok', name: 'machine policy', found: `${join(folder, 'machine/policy.json')} restricts mode, rules, policy`,
  })
})

it('a deny is final, and a looser mode becomes that of the machine', async () => {
  const { session } = await open({ mode: 'ask', rules: [{ permission: 'bash', action: 'deny' }] }, { mode: 'yolo' })
  const explained = await session.explain({ id: '1', name: 'bash', arguments: { command: 'ls' } })
  expect(explained).toMatchObject({
    decision: 'deny', code: 'RuleDenied', remedies: ['Ask the administrator of this machine.'],
  })
  expect(explained.chain.find(({ action }) => action === 'deny')?.source).toBe(
    `machine rule bash * (${join(folder, 'machine/policy.json')}#/rules/0)`,
  )
  expect(
    await session.explain({ id: '2', name: 'write', arguments: { path: 'a.txt', content: '' } }),
  ).not.toMatchObject({ decision: 'allow' })
})

it('a faulty machine policy disables all tools, and doctor says so', async () => {
  const { session } = await open('{', {})
  expect(await session.explain({ id: '1', name: 'read', arguments: { path: 'a.txt' } })).toMatchObject({
    decision: 'deny', code: 'ToolsDisabled',
  })
  expect(machineCheck(opened!)).toMatchObject({
    status: 'problem', found: expect.stringContaining('The policy of this machine'),
  })
})

it('a machine policy has a fixed place on each system', () => {
  expect((['linux', 'darwin', 'win32'] as const).map(machinePolicyFile)).toEqual([
    '/etc/bulkhead/policy.json', '/Library/Application Support/bulkhead/policy.json',
    'C:\\ProgramData\\bulkhead\\policy.json',
  ])
})
