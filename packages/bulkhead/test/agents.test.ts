import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineAgent, defineTool, type AgentInput, type ApprovalRequest, type CallView } from '../src/index.ts'
import { base, host, opened, start, useAgentHost, workspace } from './agent-host.ts'

useAgentHost()

const READ = { path: 'src/a.ts' }
const WRITE = { path: 'src/new.ts', content: 'x' }
const bounded = (agent: Partial<AgentInput>): AgentInput => defineAgent({ name: 'reviewer', ...agent })

describe('the session of an agent', () => {
  beforeEach(() => start())

  it('may not use more than the agent requires, whatever its tools declare, and explain agrees', async () => {
    const { run, explain } = await opened({ agent: bounded({ requires: { fs: { read: ['src/**'] } } }) })
    expect(await run('read', READ)).toBe('done')
    expect(await run('read', { path: 'docs/b.md' })).toMatch(
      /^CapabilityDenied: .*beyond the requires of the agent reviewer/,
    )
    expect(await run('write', WRITE)).toMatch(/^CapabilityDenied: .*or add it to the requires of the agent reviewer/)
    expect(await run('bash', { command: 'ls' })).toMatch(/^CapabilityDenied/)
    expect(await run('todo', { todos: [] })).toMatch(/^CapabilityDenied/)
    expect(await explain('write', WRITE)).toMatchObject({
      decision: 'deny', code: 'CapabilityDenied',
      remedies: [
        expect.stringMatching(/^Add {"fs":{"write":\["[^"]*\/src\/new.ts"\]}} to the requires of the agent revi/),
      ],
    })
  })

  it('gives a tool no more than the tool requires', async () => {
    await host.register(
      defineTool({
        name: 'peek', description: 'Reads.',
        input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const,
        requires: { fs: { read: ['docs/**'] } },
        execute: async ({ path }, runtime) => ({ text: await runtime.fs.readText(path) }),
      }),
    )
    const { run } = await opened({ agent: bounded({ requires: { fs: { read: ['{workspace}/**'] } } }) })
    expect(await run('peek', { path: 'docs/b.md' })).toBe('done')
    expect(await run('peek', READ)).toMatch(/^CapabilityDenied/)
  })

  it('is under the ceiling of the session and that of the configuration as well', async () => {
    const { run } = await opened({
      agent: bounded({ requires: { fs: { read: ['**'], write: ['**'] } } }), ceiling: { fs: { read: ['docs/**'] } },
    })
    expect(await run('read', { path: 'docs/b.md' })).toBe('done')
    expect(await run('read', READ)).toMatch(/^CapabilityDenied: .*ceiling of the session/)
  })

  it('is denied what a rule of the agent denies, whatever a rule of the session allows', async () => {
    const rules = [
      { permission: 'read', pattern: '*', action: 'allow' },
      { permission: 'fs.read', pattern: 'src/a.ts', action: 'allow' },
    ] as const
    const { run, explain } = await opened({
      agent: bounded({ rules: [{ permission: 'fs.read', pattern: 'src/**', action: 'deny' }] }), rules,
    })
    expect(await run('read', READ)).toMatch(/^RuleDenied: .*src\/\*\*" of agent reviewer#\/rules\/0 forbids it/)
    expect(await run('read', { path: 'docs/b.md' })).toBe('done')
    expect(await explain('read', READ)).toMatchObject({ decision: 'deny', code: 'RuleDenied' })
  })

  it('is offered the tools of the agent only, fewer if the session names fewer', async () => {
    const { session, run } = await opened({ agent: bounded({ tools: ['read', 'web'] }) })
    expect(session.tools().map(({ name }) => name).toSorted()).toEqual(['read', 'web_fetch', 'web_search'])
    expect(await run('glob', { pattern: '*' })).toMatch(/^ToolNotRegistered/)
    const fewer = await opened({ agent: bounded({ tools: ['read', 'glob'] }), tools: ['glob', 'grep'] })
    expect(fewer.session.tools().map(({ name }) => name)).toEqual(['glob'])
  })

  it('has the smaller budget of agent and session', async () => {
    const { run } = await opened({ agent: bounded({ budget: { calls: 1 } }), budget: { calls: 5 } })
    expect(await run('read', READ)).toBe('done')
    expect(await run('read', READ)).toMatch(/^BudgetExhausted/)
  })

  it('is seen by watchdogs, guards, approvers and the audit', async () => {
    const seen: (string | undefined)[] = []
    const events: (string | undefined)[] = []
    const asked: ApprovalRequest[] = []
    const look = ({ agent }: CallView) => void seen.push(agent?.name, agent?.model)
    host.on((event) => void (event.type === 'SessionOpened' && events.push(event.agent)))
    const agent = bounded({ model: 'small', rules: [{ permission: 'write', action: 'ask' }] })
    const session = await host.openSession({
      agent, mode: 'ask', watchdog: look, guards: [look],
      approver: {
        approve: async (request) => {
          asked.push(request)
          return { decision: 'once' }
        },
      },
    })
    expect(await session.call({ id: 'w', name: 'write', arguments: WRITE })).toMatchObject({ type: 'output' })
    expect(seen).toEqual(['reviewer', 'small', 'reviewer', 'small'])
    expect(asked).toMatchObject([{ agent: 'reviewer', tool: 'write', mode: 'safe_write', kind: 'edit' }])
    expect(session.agent).toMatchObject({ name: 'reviewer', model: 'small' })
    await host.openSession()
    expect(events).toEqual(['reviewer', undefined])
  })

  it('bounds its sub-agents', async () => {
    const session = await host.openSession({
      agent: bounded({ requires: { fs: { read: ['**'] } }, tools: ['read', 'write'] }),
    })
    const child = await session.openSubagent({
      agent: { name: 'child', requires: { fs: { read: ['**'], write: ['**'] } } },
    })
    expect(child.tools().map(({ name }) => name).toSorted()).toEqual(['read', 'write'])
    expect(await child.call({ id: 'r', name: 'read', arguments: READ })).toMatchObject({ type: 'output' })
    expect(await child.call({ id: 'w', name: 'write', arguments: WRITE })).toMatchObject({
      type: 'error', error: { code: 'CapabilityDenied' },
    })
  })

  it('is limited by the earlier key `requires` as by `ceiling`, and that is reported', async () => {
    const reads = { fs: { read: ['src/**'] } }
    for (const key of ['ceiling', 'requires'] as const) {
      const { session, run } = await opened({ agent: bounded({ [key]: reads }) })
      expect(await run('read', READ)).toBe('done')
      expect(await run('write', WRITE)).toMatch(
        new RegExp(`^CapabilityDenied: .*add it to the ${key} of the agent reviewer`),
      )
      const found = host.diagnostics.filter(({ code }) => code === 'AgentInvalid')
      expect(found).toMatchObject(
        key === 'ceiling'
          ? []
          : [{ severity: 'warning', location: 'agent reviewer', path: '/requires', cure: 'Rename it to `ceiling`.' }],
      )
      await session.close()
    }
  })

  it('has what the agent requires beside a ceiling on its surface, and no tool gets it', async () => {
    await host.register(
      defineTool({
        name: 'peek', description: 'Reads.',
        input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const,
        requires: { fs: { read: ['docs/**'] } },
        execute: async ({ path }, runtime) => ({ text: await runtime.fs.readText(path) }),
      }),
    )
    const agent = bounded({
      tools: ['peek'], ceiling: { fs: { read: ['**'], write: ['src/**'] } },
      requires: { fs: { read: ['src/**'], write: ['**'] }, net: { hosts: ['api.example.com'] } },
    })
    const { session, run } = await opened({ agent, ceiling: { fs: { read: ['**'], write: ['**'] } } })
    const paths = (...names: string[]) => names.map((name) => `${workspace}/${name}/**`)
    const [docs, src] = paths('docs', 'src')
    expect(session.surface()).toEqual({
      words: [`read ${docs}`, `read ${src}`, `write ${src}`],
      items: [
        { kind: 'fs.read', subject: docs, tools: ['peek'], agent: false },
        { kind: 'fs.read', subject: src, tools: [], agent: true },
        { kind: 'fs.write', subject: src, tools: [], agent: true },
      ],
    })
    expect(await run('peek', { path: 'docs/b.md' })).toBe('done')
    expect(await run('peek', READ)).toMatch(/^CapabilityDenied/)
    const child = await session.openSubagent({
      agent: { name: 'child', ceiling: { fs: { read: ['**'] } }, requires: { fs: { read: ['**'], write: ['**'] } } },
    })
    expect(child.surface().words).toEqual([`read ${docs}`, `read ${src}`])
    const denied = await host.openSession({
      tools: ['peek', 'write'], rules: [{ permission: 'write', action: 'deny', pattern: '*' }],
    })
    expect(denied.surface().words).toEqual([`read ${docs}`])
  })

  it('reaches the roots of the agent', async () => {
    const { run } = await opened({
      agent: bounded({ roots: ['../library'], requires: { fs: { read: ['{workspace}/**'] } } }),
    })
    expect(await run('read', { path: join(base, 'library/c.txt') })).toBe('done')
    expect(await run('write', { path: join(base, 'library/c.txt'), content: 'x' })).toMatch(/^CapabilityDenied/)
  })

  it.each<[string, AgentInput | string, string, RegExp]>([
    [
      'has an unknown key', { name: 'x', tols: [] } as AgentInput, 'AgentInvalid',
      /^The agent is invalid: \/agent\/tols is not a known key; perhaps it is "tools"\.$/,
    ],
    [
      'has a wrong value', { name: 'x', tools: 'read' } as never, 'AgentInvalid',
      /^The agent is invalid: \/agent\/tools is wrong/,
    ],
    [
      'has an unknown key inside', bounded({ budget: { call: 3 } as never }), 'AgentInvalid',
      /\/agent\/budget\/call is not a known key; perhaps it is "calls"/,
    ],
    [
      'has a pattern with an unknown variable', bounded({ requires: { fs: { read: ['{home}/**'] } } }), 'AgentInvalid',
      /^The agent "reviewer" is invalid: .*\{home\}/,
    ],
    [
      'has a root that does not exist', bounded({ roots: ['../nowhere'] }), 'AgentInvalid',
      /"\.\.\/nowhere" of the agent "reviewer" cannot be used/,
    ],
    ['is not known', 'revewer', 'AgentNotFound', /No agent is called "revewer"\./],
  ])('is not opened if the agent %s', async (_, agent, code, message) => {
    await expect(host.openSession({ agent })).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })
})
