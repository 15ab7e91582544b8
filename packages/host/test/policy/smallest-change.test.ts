import { RULE_ACTIONS, SECURITY_MODES, type ConfigFile, type Rule } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { SessionOptions } from '../../src/index.ts'
import { createWorld } from '../twin/world.ts'

const CITIES = ['Oslo', 'Bergen'] as const
const anyRule: fc.Arbitrary<Rule> = fc.record({
  permission: fc.constantFrom('echo', 'ech*', '*', 'fs.read', 'shell.run'),
  pattern: fc.constantFrom('*', 'Oslo', 'Oslo*', 'Bergen', '**'),
  action: fc.constantFrom(...RULE_ACTIONS),
})
const setting = fc.record({
  rules: fc.array(anyRule, { maxLength: 4 }), ofSession: fc.array(anyRule, { maxLength: 1 }),
  mode: fc.constantFrom(...SECURITY_MODES), toolMode: fc.constantFrom('local', 'external'),
  watchdog: fc.constantFrom(undefined, undefined, 'ask', 'deny'),
})

async function explained(config: ConfigFile, toolMode: string, options: SessionOptions, city: string) {
  const { host } = createWorld({
    extensions: [{ tools: { echo: { gated: true, mode: toolMode as 'local', approvalKey: '{city}' } } }], config,
  })
  const session = await host.openSession({ ...options, approver: { approve: async () => ({ decision: 'reject' }) } })
  return session.explain({ id: 'c', name: 'echo', arguments: { city } })
}

it('the smallest change allows the call and no other; without one, a rule cannot help', async () => {
  await fc.assert(fc.asyncProperty(setting, async ({ rules, ofSession, mode, toolMode, watchdog }) => {
    const options: SessionOptions = {
      rules: ofSession, ...(watchdog && { watchdog: () => ({ action: watchdog, reason: 'because' }) }),
    }
    const decide = (given: readonly Rule[], city: string) =>
      explained({ rules: [...given], mode }, toolMode, options, city)
    const [before, other] = [await decide(rules, CITIES[0]), await decide(rules, CITIES[1])]
    const { change } = before
    if (before.decision === 'allow' || change === undefined) {
      expect(change).toBe(undefined)
      if (watchdog === undefined && before.decision !== 'allow' && ofSession.length === 0) {
        const only = await decide([{ permission: 'echo', pattern: 'Oslo', action: 'allow' }], CITIES[0])
        expect(only.decision).not.toBe('allow')
      }
      return
    }
    const removed = new Set(change.remove.map(({ source }) => Number(source.split('/').at(-1))))
    const after = [...rules.filter((_, index) => !removed.has(index)), ...change.add]
    expect((await decide(after, CITIES[0])).decision).toBe('allow')
    // The rules that stay say about other calls what they said.
    if (removed.size === 0) expect((await decide(after, CITIES[1])).decision).toBe(other.decision)
    for (const { permission, pattern } of change.add) expect([permission, pattern]).toEqual(['echo', 'Oslo'])
  }), { numRuns: thoroughly(20, 600) })
})

it('names what a rule would allow besides the call', async () => {
  const { change, remedies } = await explained({}, 'external', {}, 'Os lo')
  expect(change).toEqual({
    add: [{ permission: 'echo', pattern: 'Os lo', action: 'allow' }], remove: [],
    allows: ['every call of echo with the key "Os lo"'],
  })
  expect(remedies.at(-1)).toBe(
    `Allow every call of echo with the key "Os lo", in every session: bulkhead policy add echo 'Os lo' allow`,
  )
})

it('removes a rule that an exception cannot set aside, and names its place', async () => {
  const rules: Rule[] = [{ permission: 'echo', pattern: 'Oslo', action: 'deny' }]
  const { change, remedies } = await explained({ rules }, 'external', {}, 'Oslo')
  expect(change).toMatchObject({
    add: [{ pattern: 'Oslo' }], remove: [{ ...rules[0], source: '/layers/global/config.json#/rules/0' }],
  })
  expect(remedies).toContain(
    'Remove the rule of /layers/global/config.json#/rules/0: bulkhead policy remove echo Oslo deny',
  )
})
