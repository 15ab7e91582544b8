import { compileGrant, type RequirementSet, type RuleCapability } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { resourcesOf } from '../../src/policy/resources.ts'

const VALUES = { workspace: ['/project'] }

/** Whether a rule with this pattern applies to a tool with these requirements. */
function meets(requires: RequirementSet, permission: RuleCapability, pattern: string): boolean {
  const grant = compileGrant(requires, VALUES)
  const rule = { permission, pattern, action: 'deny', scope: 'session', source: 'test' } as const
  return resourcesOf(grant, [rule]).length > resourcesOf(grant, []).length
}

test.each<[string, RequirementSet, RuleCapability, string, boolean]>([
  ['whatever follows', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'git push*', true],
  ['nothing that follows', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'git', true],
  ['whatever follows a word', { shell: [{ cmd: 'git', args: ['push', { rest: true }] }] }, 'shell.run', 'git push --force', true],
  ['another word', { shell: [{ cmd: 'git', args: ['push', { rest: true }] }] }, 'shell.run', 'git pull*', false],
  ['another program', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'rm *', false],
  ['one argument', { shell: [{ cmd: 'git', args: [{ wildcard: true }, 'now'] }] }, 'shell.run', 'git push*', true],
  ['the same beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'pu' }, 'now'] }] }, 'shell.run', 'git push*', true],
  ['a longer beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'push-all' }, 'now'] }] }, 'shell.run', 'git push*', true],
  ['another beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'pull' }, 'now'] }] }, 'shell.run', 'git push*', false],
  ['a folder of any name', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets', true],
  ['a folder written with a slash', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets/', true],
  ['a folder written with two', { fs: { write: ['*/keys'] } }, 'fs.write', '/project//secrets', true],
  ['another folder', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets/other', false],
  ['another power', { fs: { write: ['*/keys'] } }, 'fs.read', '/project/secrets', false],
])('a rule on the resources of a tool: %s', (_, requires, permission, pattern, expected) => {
  expect(meets(requires, permission, pattern)).toBe(expected)
})
