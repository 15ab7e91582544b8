import type { Rule } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const REQUIRES = {
  fs: { read: ['{workspace}/**'] }, net: { hosts: ['*.example.com'] },
  shell: [{ cmd: 'git', args: [{ rest: true as const }] }],
}
const TOUCHES = { path: 'fs.read', url: 'net.fetch', line: 'shell.run' } as const
const realPath = (path: string) => path.replace('/linked', '/secrets')

async function decided(
  args: Record<string, string | string[]>, rules: readonly Rule[] = [], touches: object = TOUCHES,
) {
  const { host } = createWorld({
    workspace: '/ws', realPath,
    extensions: [{ tools: { look: { requires: REQUIRES, touches: touches as typeof TOUCHES, mode: 'external' } } }],
  })
  const approver = new ScriptedApprover('once')
  const judged: unknown[] = []
  const session = await host.openSession({
    rules, approver,
    watchdog: (call) => {
      judged.push(call)
    },
  })
  const call = { id: 'c', name: 'look', arguments: args }
  const { decision, later } = await session.explain(call)
  return {
    decision, ...(later && { later }), judged: judged.length, verdict: verdictOf(await session.call(call)),
    asked: approver.asked,
  }
}

const deny = (permission: string, pattern: string): Rule => ({ permission, pattern, action: 'deny' })

test.each<[string, Record<string, string | string[]>, Rule]>([
  ['a file', { path: 'secrets/k' }, deny('look', 'secrets/**')],
  ['one of several files', { path: ['a', 'secrets/k'] }, deny('look', 'secrets/**')],
  ['a file by a link', { path: 'linked/k' }, deny('look', 'secrets/**')],
  ['a host', { url: 'https://api.example.com/a' }, deny('look', 'api.example.com')],
  ['a command', { line: 'git push' }, deny('look', 'git push*')],
])('a rule sees what an argument names, as the manifest says: %s', async (_, args, rule) => {
  expect(await decided(args, [rule])).toMatchObject({ decision: 'deny', verdict: 'RuleDenied' })
  // The claim is what makes it known.
  expect((await decided(args, [rule], {})).verdict).toBe('output')
})

test('a claim leaves nothing out of what a call may touch', async () => {
  expect((await decided({ path: 'a' }, [deny('fs.read', 'secrets/**')])).later).toHaveLength(1)
  const allowed: Rule = { permission: 'fs.read', pattern: 'a', action: 'allow' }
  expect((await decided({ path: 'a' }, [allowed])).asked).toHaveLength(1)
})

test('a call that cannot run asks no one', async () => {
  for (const args of [{ path: '/etc/passwd' }, { path: '../up' }, { url: 'https://else.example.org' }]) {
    expect(await decided(args)).toEqual({ decision: 'deny', verdict: 'CapabilityDenied', judged: 0, asked: [] })
  }
})

test('the question says what the manifest says', async () => {
  const { asked } = await decided({ path: 'a', url: 'api.example.com', line: 'git log' })
  expect(asked[0]?.touches).toEqual(
    ['read /ws/a', 'reach api.example.com', 'run git log'].map((line) => `${line}, as its manifest says`),
  )
})
