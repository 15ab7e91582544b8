import { compileGrant, possibleRules, type RequirementSet, type RuleCapability } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { unknownTouches } from '../../src/policy/touches.ts'

const VALUES = { workspace: ['/project'] }

/** Whether a rule with this pattern could match what a tool with these requirements may touch. */
function meets(requires: RequirementSet, permission: RuleCapability, pattern: string): boolean {
  const grant = compileGrant(requires, VALUES)
  const rule = { permission, pattern, action: 'deny', author: 'user', source: 'test' } as const
  return possibleRules([rule], { tool: 'any', touches: unknownTouches(grant) }).length > 0
}

test.each<[string, RequirementSet, RuleCapability, string, boolean]>([
  ['whatever follows', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'git push*', true],
  ['nothing that follows', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'git', true],
  [
    'whatever follows a word', { shell: [{ cmd: 'git', args: ['push', { rest: true }] }] }, 'shell.run',
    'git push --force', true,
  ],
  ['another word', { shell: [{ cmd: 'git', args: ['push', { rest: true }] }] }, 'shell.run', 'git pull*', false],
  ['another program', { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, 'shell.run', 'rm *', false],
  ['one argument', { shell: [{ cmd: 'git', args: [{ wildcard: true }, 'now'] }] }, 'shell.run', 'git push*', true],
  ['the same beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'pu' }, 'now'] }] }, 'shell.run', 'git push*', true],
  [
    'a longer beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'push-all' }, 'now'] }] }, 'shell.run', 'git push*',
    true,
  ],
  [
    'another beginning', { shell: [{ cmd: 'git', args: [{ prefix: 'pull' }, 'now'] }] }, 'shell.run', 'git push*',
    false,
  ],
  ['a folder of any name', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets', true],
  ['a folder written with a slash', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets/', true],
  ['a folder written with two', { fs: { write: ['*/keys'] } }, 'fs.write', '/project//secrets', true],
  ['another folder', { fs: { write: ['*/keys'] } }, 'fs.write', '/project/secrets/other', false],
  ['another power', { fs: { write: ['*/keys'] } }, 'fs.read', '/project/secrets', false],
])('a rule on the resources of a tool: %s', (_, requires, permission, pattern, expected) => {
  expect(meets(requires, permission, pattern)).toBe(expected)
})
