import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RuleAction } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { RuleProof } from '../src/facade/policy/rule-proofs.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-policy-')))
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'home/.bulkhead/config.json')
const rule = (permission: string, pattern: string, action: RuleAction) => ({ permission, pattern, action })
async function checked(...rules: readonly ReturnType<typeof rule>[]) {
  writeFileSync(file(), JSON.stringify({ rules }))
  const { code, stdout } = await inside(['policy', 'check', '--json'], folder)
  return { code, proofs: (JSON.parse(stdout) as { readonly rules: readonly RuleProof[] }).rules }
}

it('names for each rule a call that it decides, as explain does', async () => {
  const { code, proofs } = await checked(
    rule('read', '.env', 'deny'), rule('fs.read', 'secrets/**', 'deny'), rule('write', '**/*.lock', 'ask'),
    rule('bash', 'npm *', 'allow'), rule('net.fetch', '*.example.com', 'deny'), rule('*', 'private/**', 'deny'),
    rule('question', '*', 'deny'), rule('fs.wrtie', 'misspelt', 'deny'),
  )
  expect(code).toBe(0)
  expect(proofs.map(({ call }) => call?.name)).toEqual([
    'read', 'read', 'write', 'bash', 'web_fetch', 'read', 'question', 'read',
  ])
  const [first] = proofs
  expect(first).toEqual({
    author: 'user', ...rule('read', '.env', 'deny'), source: `${file()}#/rules/0`, line: 1,
    call: { name: 'read', arguments: { path: '.env' } },
  })
  for (const { call, action, permission, pattern } of proofs) {
    const { stdout } = await inside(
      ['explain', call!.name, '--args', JSON.stringify(call!.arguments), '--json'], folder,
    )
    expect(JSON.parse(stdout)).toMatchObject({
      chain: expect.arrayContaining([
        expect.objectContaining({
          stage: 'rules', action, rules: expect.arrayContaining([`the rule "${permission} ${pattern}" of ${file()}:1`]),
        }),
      ]),
    })
  }
})

it('says which rules decide nothing', async () => {
  const { code, proofs } = await checked(
    rule('read', 'a', 'deny'), rule('read', 'a', 'allow'), rule('reed', '*', 'deny'),
  )
  expect(code).toBe(1)
  expect(proofs.map(({ call }) => call === null)).toEqual([false, true, true])
  const { stdout } = await inside(['policy', 'check'], folder)
  expect(stdout).toMatch(/^AUTHOR +RULE +DECIDES +WRITTEN IN\nuser +read a deny +read \{"path":"a"\} +/)
  expect(stdout).toMatch(/user +read a allow +none of the calls that were tried/)
  const doctor = await inside(['doctor'], folder)
  expect(doctor.stdout).toMatch(/ok +rule +read a deny decides read \{"path":"a"\}/)
  expect(doctor.stdout).toMatch(/warning +rule +reed \* deny decides none of the calls that were tried/)
})

it('says so if there are no rules, and refuses another word', async () => {
  expect(await inside(['policy', 'check'], folder)).toMatchObject({ code: 0, stdout: 'There are no rules.\n' })
  expect(await inside(['policy', 'chek'], folder)).toMatchObject({ code: 2 })
})
