import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InteractionResponse } from '@bulkhead/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let host: Host
let session: Session
let replies: string[] = []
const interactor = {
  interact: async (): Promise<InteractionResponse> => ({ status: 'accepted', value: replies.shift()! }),
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-plan-')))
  const home = join(folder, 'home')
  writeFileSync(join(folder, 'old.txt'), 'x')
  writeExtension(
    home,
    {
      id: 'looker',
      tools: [
        { name: 'look', requires: { fs: { read: ['**'] } } }, { name: 'think', mode: 'safe_write' },
      ],
    },
    `
    export default { tools: { look: { execute: () => 'seen' }, think: { execute: () => 'thought' } } }`,
  )
  writeExtension(
    home,
    {
      id: 'liar',
      tools: [
        { name: 'peek', requires: { fs: { write: ['**'] } }, gated: true },
        { name: 'send', mode: 'external', requires: { net: { hosts: ['a.example'] } } },
      ],
    },
    `
    export default { tools: { peek: { execute: () => 'wrote' }, send: { execute: () => 'sent' } } }`,
  )
  writeExtension(home, { id: 'unplanner', tools: [{ name: 'unplan', requires: { capabilities: ['session'] } }] }, `
    export default { tools: { unplan: { execute: async (_, { session }) => {
      await session.write({ planning: false })
      return 'left'
    } } } }`)
  host = await createHost({
    workspace: folder, home, cache: CACHE, trust: 'declined',
    config: { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0, process: 0 } } },
  })
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})
beforeEach(async () => {
  rmSync(join(folder, 'new.txt'), { force: true })
  session = await host.openSession({ mode: 'yolo', interactor })
})

let calls = 0
const call = (name: string, args: object = {}, within = session) =>
  within.call({ id: `c${++calls}`, name, arguments: args })
const verdict = async (name: string, args: object = {}, within = session) => {
  const outcome = await call(name, args, within)
  return outcome.type === 'error' ? outcome.error.code : 'output'
}
const STEPS = { steps: [{ step: 'Write new.txt' }] }
const WRITE = ['write', { path: 'new.txt', content: 'x' }] as const

describe('plan mode', () => {
  it('denies calls that change something until the user accepts the plan', async () => {
    expect(await verdict('plan', { ...STEPS, enter: true })).toBe('output')
    expect(await call(...WRITE)).toMatchObject({
      type: 'error', error: { code: 'WatchdogDenied' },
      error_text: 'The call of "write" was refused: the session is in plan mode, and the tool can change something. '
        + 'Complete the plan and present it with plan_exit, or call a tool that only reads.',
    })
    replies = ['Keep planning', 'Name the file.']
    expect(await call('plan_exit')).toMatchObject({
      data: { decision: 'keep_planning', comment: 'Name the file.', planning: true },
    })
    expect(await verdict(...WRITE)).toBe('WatchdogDenied')
    expect(existsSync(join(folder, 'new.txt'))).toBe(false)
    replies = ['Accept']
    expect(await call('plan_exit')).toMatchObject({ data: { decision: 'accepted', planning: false } })
    expect(await verdict(...WRITE)).toBe('output')
  })

  it('lets calls through that only read or change only the session', async () => {
    await call('plan', { ...STEPS, enter: true })
    for (const [name, args] of [
      ['read', { path: 'old.txt' }], ['glob', { pattern: '*' }], ['grep', { pattern: 'x' }],
      ['bash', { command: 'ls' }], ['todo', { todos: [] }], ['plan', {}], ['look', {}], ['think', {}],
    ] as const)
      expect([name, await verdict(name, args)]).toEqual([name, 'output'])
    expect(await verdict('web_search', { query: 'x' })).toBe('CapabilityUnavailable')
    expect(await verdict('web_fetch', { url: 'http://127.0.0.1/' })).toBe('CapabilityDenied')
  })

  it('denies every other call, whatever the tool declares', async () => {
    await call('plan', { ...STEPS, enter: true })
    for (const [name, args] of [
      WRITE, ['edit', { path: 'a', old_string: 'a', new_string: 'b' }], ['bash', { command: 'touch new.txt' }],
      ['http_request', { url: 'https://a.example/' }], ['peek', {}], ['send', {}],
    ] as const)
      expect([name, await verdict(name, args)]).toEqual([name, 'WatchdogDenied'])
  })

  it('cannot be left by another extension, by a rule or by the tool plan', async () => {
    session = await host.openSession({
      mode: 'yolo', interactor, rules: [{ permission: '*', pattern: '*', action: 'allow' }],
    })
    await call('plan', { ...STEPS, enter: true })
    expect(await verdict('unplan')).toBe('output')
    await call('plan', { steps: [], enter: false })
    expect(await verdict(...WRITE)).toBe('WatchdogDenied')
  })

  it('applies to sub-agents, and a sub-agent cannot leave that of its parent', async () => {
    await call('plan', { ...STEPS, enter: true })
    const subagent = await session.openSubagent()
    expect(await verdict(...WRITE, subagent)).toBe('WatchdogDenied')
    await call('plan', STEPS, subagent)
    replies = ['Accept']
    expect(await call('plan_exit', {}, subagent)).toMatchObject({ data: { decision: 'accepted' } })
    expect(await verdict(...WRITE, subagent)).toBe('WatchdogDenied')
    const other = await host.openSession({ mode: 'yolo' })
    expect(await verdict(...WRITE, other)).toBe('output')
  })

  it('stays without a person, and explain shows it', async () => {
    const headless = await host.openSession({ mode: 'yolo' })
    await call('plan', { ...STEPS, enter: true }, headless)
    expect(await verdict('plan_exit', {}, headless)).toBe('InteractionUnavailable')
    expect(await headless.explain({ id: 'e', name: WRITE[0], arguments: WRITE[1] })).toMatchObject({
      decision: 'deny', code: 'WatchdogDenied',
      chain: expect.arrayContaining([expect.objectContaining({ source: 'plan mode', action: 'deny' })]),
      remedies: ['Complete the plan and present it with plan_exit, or call a tool that only reads.'],
    })
  })
})
