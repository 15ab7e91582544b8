import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, RuleAction } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHost, type Rule } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-rules-')))
  for (const name of ['home', 'work/secrets', 'work/src/deep']) mkdirSync(join(folder, name), { recursive: true })
  for (const name of ['.env', 'secrets/k', 'secrets/x', 'src/a.ts', 'src/deep/b.ts']) writeFileSync(join(folder, 'work', name), 'text\n')
  symlinkSync('../secrets/x', join(folder, 'work/src/linked'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Short = readonly [permission: string, pattern: string, action: RuleAction]
type Call = readonly [name: string, args: Readonly<Record<string, string>>]
const rules = (short: readonly Short[]): Rule[] => short.map(([permission, pattern, action]) => ({ permission, pattern, action }))

/** What explain says and what the call does, with these rules in a layer. */
async function decided(layer: 'user' | 'createHost' | 'session', short: readonly Short[], [name, args]: Call) {
  const config: ConfigFile = { rules: rules(short) }
  writeFileSync(join(folder, 'home/config.json'), JSON.stringify(layer === 'user' ? config : {}))
  const host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: {}, discover: 'when-asked', trust: 'declined',
    ...(layer === 'createHost' && { config }),
  })
  try {
    const asked: unknown[] = []
    const session = await host.openSession({
      ...(layer === 'session' && { rules: rules(short) }), approver: { approve: async (request) => { asked.push(request); return { decision: 'reject' } } },
    })
    const call = { id: 'c', name, arguments: args }
    const { decision } = await session.explain(call)
    const outcome = await session.call(call)
    expect(outcome.type === 'error' && ['RuleDenied', 'ApprovalDenied'].includes(outcome.error.code)).toBe(decision !== 'allow')
    expect(asked.length).toBe(decision === 'ask' ? 1 : 0)
    return decision
  } finally {
    await host.close()
  }
}

describe('a rule for a tool sees the files of a call', () => {
  it.each<[RuleAction, readonly Short[], Call]>([
    ['deny', [['read', '.env', 'deny']], ['read', { path: '.env' }]],
    ['deny', [['read', '**/*.ts', 'deny']], ['read', { path: 'src/deep/b.ts' }]],
    ['allow', [['read', '*.ts', 'deny']], ['read', { path: 'src/a.ts' }]],
    ['deny', [['read', 'secrets', 'deny']], ['read', { path: 'src/linked' }]],
    ['deny', [['grep', 'src', 'deny']], ['grep', { pattern: 'x', path: 'src/deep' }]],
    ['allow', [['write', 'src/a.ts', 'allow']], ['write', { path: 'src/a.ts', content: 'text\n' }]],
    ['ask', [['write', 'src/a.ts', 'allow']], ['write', { path: 'src/deep/b.ts', content: 'text\n' }]],
    ['deny', [['*', 'src/deep/**', 'deny']], ['write', { path: 'src/deep/b.ts', content: 'text\n' }]],
  ])('%s for %j %j', async (action, short, call) => {
    expect(await decided('user', short, call)).toBe(action)
  })
})

describe.each(['user', 'createHost', 'session'] as const)('one order in %s', (layer) => {
  const denied: Short = ['fs.read', 'secrets/**', 'deny']
  it.each<[RuleAction, string, readonly Short[], Call]>([
    ['deny', 'a wide allow', [denied, ['read', '**', 'allow']], ['read', { path: 'secrets/x' }]],
    ['deny', 'a wide ask', [denied, ['read', '*', 'ask']], ['read', { path: 'secrets/x' }]],
    ['deny', 'an equal allow', [['fs.read', 'secrets/k', 'deny'], ['read', 'secrets/k', 'allow']], ['read', { path: 'secrets/k' }]],
    [layer === 'createHost' ? 'deny' : 'allow', 'an allow inside', [denied, ['read', 'secrets/k', 'allow']], ['read', { path: 'secrets/k' }]],
    ['deny', 'an allow of another file', [denied, ['read', 'secrets/k', 'allow']], ['read', { path: 'secrets/x' }]],
  ])('%s: a deny beside %s', async (action, _, short, call) => {
    expect(await decided(layer, short, call)).toBe(action)
    expect(await decided(layer, short.toReversed(), call)).toBe(action)
  })
})
