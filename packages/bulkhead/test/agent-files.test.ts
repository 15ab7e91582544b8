import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { createHost } from '../src/index.ts'
import { base, host, opened, save, start, useAgentHost, workspace } from './agent-host.ts'

useAgentHost()

const READ = { path: 'src/a.ts' }

describe('agents by name', () => {
  it('come from the embedder and hide those of files', async () => {
    save('home/agents/reviewer.json', { name: 'reviewer', model: 'of the user' })
    await start({ agents: [{ name: 'reviewer', tools: ['read'] }, { name: 'writer' }] })
    expect(host.agents()).toMatchObject([
      { name: 'reviewer', layer: 'embedder' }, { name: 'writer', layer: 'embedder' },
    ])
    const { session } = await opened({ agent: 'reviewer' })
    expect(session.tools().map(({ name }) => name)).toEqual(['read'])
    await expect(host.openSession({ agent: 'revewer' })).rejects.toMatchObject({
      code: 'AgentNotFound', message: 'No agent is called "revewer". Did you mean "reviewer"?',
    })
    await expect(
      createHost({ workspace, agents: [{ name: 'x', requires: { fs: { read: ['{home}/x'] } } }] }),
    ).rejects.toMatchObject({ code: 'AgentInvalid', data: { path: '/agents/0/requires' } })
    await expect(createHost({ workspace, agents: [{ name: '../x' }] })).rejects.toMatchObject({
      code: 'AgentInvalid', data: { path: '/agents/0/name' },
    })
    await expect(createHost({ workspace, agents: [{ name: 'x' }, { name: 'x' }] })).rejects.toMatchObject({
      code: 'AgentInvalid', message: expect.stringMatching(/Two agents have the name "x"/),
    })
  })

  it('come from the user and from a trusted project, which hides those of the user', async () => {
    save('home/agents/reviewer.json', { name: 'reviewer', model: 'of the user' })
    save('home/agents/planner.json', { name: 'planner' })
    save('workspace/.bulkhead/agents/reviewer.json', { name: 'reviewer', model: 'of the project', tools: ['read'] })
    await start()
    expect(host.agents()).toMatchObject([
      { name: 'planner', layer: 'global', location: join(base, 'home/agents/planner.json') },
      { name: 'reviewer', layer: 'project', manifest: { model: 'of the project' } },
    ])
    expect(host.agent('reviewer')).toMatchObject({ model: 'of the project', rules: [], roots: [] })
    expect((await opened({ agent: 'reviewer' })).session.tools().map(({ name }) => name)).toEqual(['read'])
    expect(host.diagnostics).toEqual([])
  })

  it('are not read from a project that is not trusted', async () => {
    save('workspace/.bulkhead/agents/reviewer.json', { name: 'reviewer' })
    save('workspace/.bulkhead/agents/broken.json', '{')
    await start({ trust: 'declined' })
    expect(host.agents()).toEqual([])
    expect(host.diagnostics.map(({ code }) => code)).toEqual(['ProjectTrustRequired'])
    await expect(host.openSession({ agent: 'reviewer' })).rejects.toMatchObject({
      code: 'AgentNotFound', message: expect.stringContaining('run `bulkhead trust`'),
    })
  })

  it.each<[string, Json | string, string, RegExp]>([
    ['is not JSON', '{', '', /is not JSON/],
    [
      'has an unknown key', { name: 'reviewer', tool: ['read'] }, '/tool',
      /\/tool is not a known key; perhaps it is "tools"/,
    ],
    ['has another name than the file', { name: 'other' }, '/name', /"other".*reviewer/],
    [
      'has an invalid pattern', { name: 'reviewer', requires: { fs: { read: ['{home}/**'] } } }, '/requires',
      /\{home\}/,
    ],
    [
      'names a root outside of the project', { name: 'reviewer', roots: ['../library'] }, '/roots/0',
      /outside the project/,
    ],
    ['names an absolute root', { name: 'reviewer', roots: ['/'] }, '/roots/0', /outside the project/],
  ])(
    'are reported, and not replaced by those of the user, if a file %s',
    async (_, content, path, message) => {
      save('home/agents/reviewer.json', { name: 'reviewer' })
      save('workspace/.bulkhead/agents/reviewer.json', content)
      await start()
      expect(host.diagnostics).toMatchObject([
        {
          severity: 'error', code: 'AgentInvalid', layer: 'project',
          location: join(workspace, '.bulkhead/agents/reviewer.json'), path, message: expect.stringMatching(message),
        },
      ])
      expect(host.agents()).toMatchObject([{ name: 'reviewer', layer: 'project', manifest: undefined }])
      await expect(host.openSession({ agent: 'reviewer' })).rejects.toMatchObject({
        code: 'AgentInvalid', data: { path },
      })
      expect(() => host.agent('reviewer')).toThrow(/cannot be used/)
    },
  )

  it('may name folders of their project, but no link out of it', async () => {
    symlinkSync(join(base, 'library'), join(workspace, 'way-out'))
    save('workspace/.bulkhead/agents/inside.json', { name: 'inside', roots: ['src'] })
    save('workspace/.bulkhead/agents/outside.json', { name: 'outside', roots: ['way-out'] })
    await start()
    expect(await (await opened({ agent: 'inside' })).run('read', READ)).toBe('done')
    await expect(host.openSession({ agent: 'outside' })).rejects.toMatchObject({
      code: 'AgentInvalid', message: expect.stringMatching(/"way-out".*outside the project/),
    })
  })

  it('are not read through links', async () => {
    save('elsewhere/reviewer.json', { name: 'reviewer' })
    mkdirSync(join(workspace, '.bulkhead'))
    symlinkSync(join(base, 'elsewhere'), join(workspace, '.bulkhead/agents'))
    mkdirSync(join(base, 'home/agents'), { recursive: true })
    symlinkSync(join(base, 'elsewhere/reviewer.json'), join(base, 'home/agents/reviewer.json'))
    await start()
    expect(host.diagnostics).toMatchObject([
      { code: 'AgentInvalid', layer: 'global', message: expect.stringMatching(/link/) },
      { code: 'PackageUnsafe', layer: 'project', message: 'The agents folder of the project layer is a link.' },
    ])
    await expect(host.openSession({ agent: 'reviewer' })).rejects.toMatchObject({ code: 'AgentInvalid' })
  })

  it('are reported with the nearest name if they name unknown tools', async () => {
    save('home/agents/reviewer.json', {
      name: 'reviewer', tools: ['raed'], rules: [{ permission: 'bahs', action: 'deny' }],
    })
    await start()
    expect(host.diagnostics).toMatchObject([
      {
        severity: 'warning', path: '/rules/0/permission', location: join(base, 'home/agents/reviewer.json'),
        cure: 'Did you mean "bash"?',
      },
      { severity: 'warning', path: '/tools/0', cure: 'Did you mean "read"?' },
    ])
  })

  it('change with a reload', async () => {
    save('home/agents/reviewer.json', { name: 'reviewer', model: 'old' })
    await start()
    save('home/agents/reviewer.json', { name: 'reviewer', model: 'new' })
    expect(host.agent('reviewer').model).toBe('old')
    await host.reload()
    expect(host.agent('reviewer').model).toBe('new')
  })
})

it('trust in a project covers its agents', async () => {
  save('workspace/.bulkhead/agents/reviewer.json', { name: 'reviewer', model: 'first' })
  const interactor = { interact: async () => ({ status: 'accepted', value: 'trusted' } as const) }
  await start({ trust: undefined as never, interactor })
  expect(host.agent('reviewer').model).toBe('first')
  await host.close()
  save('workspace/.bulkhead/agents/reviewer.json', { name: 'reviewer', model: 'second' })
  await start({ trust: undefined as never })
  expect(host.agents()).toEqual([])
})
