import type { ApprovalAnswer, ApprovalRequest } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createWorld, type ExtensionSketch, type ToolSketch } from '../twin/world.ts'

/** Code that derives the same key for every call. */
const everything: ToolSketch = { gated: true, deriveApprovalKey: () => 'everything' }
const template: ToolSketch = { gated: true, approvalKey: 'city {city}' }

function asking(tool: ToolSketch, decision: ApprovalAnswer['decision'], more: Partial<ExtensionSketch> = {}) {
  const asked: ApprovalRequest[] = []
  const approve = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    asked.push(request)
    return { decision }
  }
  const world = createWorld({ extensions: [{ tools: { echo: tool }, ...more }] })
  let calls = 0
  const call = async (city: string, session = world.host.openSession({ approver: { approve } })) =>
    (await session).call({ id: `c${++calls}`, name: 'echo', arguments: { city } })
  return { world, asked, call, open: () => world.host.openSession({ approver: { approve } }) }
}

describe('a key that third-party code derives', () => {
  test('is marked in the question', async () => {
    const { asked, call } = asking(everything, 'once')
    await call('Oslo')
    expect(asked).toMatchObject([{ approvalKey: 'everything', keyByTool: true }])
  })

  test('is approved for the session at most', async () => {
    const { world, asked, call, open } = asking(everything, 'project')
    const session = open()
    await call('Oslo', session)
    await call('Bergen', session)
    expect(asked).toHaveLength(1)
    expect((await world.host.approvals.list()).map(({ scope }) => scope)).toEqual(['session'])
    expect(world.eventsOf('ApprovalGranted')).toMatchObject([{ scope: 'session' }])
    await call('Oslo')
    expect(asked).toHaveLength(2)
  })

  test('ignores a project approval that an older host stored', async () => {
    const sameForAll: ToolSketch = { ...everything, deriveApprovalKey: () => 'city Oslo' }
    // As a bundled tool it stores an approval of the same identity and key.
    const older = asking(sameForAll, 'project', { inline: true })
    await older.call('Oslo')
    const { asked, call, world } = asking(sameForAll, 'once')
    for (const { key, value } of await older.world.store.list('approval', ''))
      await world.store.write('approval', key, value!)
    await call('Oslo')
    expect(asked).toHaveLength(1)
    expect((await world.host.approvals.list()).map(({ scope }) => scope)).toEqual(['project'])
  })

  test('counts as derived also if it is the name of the tool', async () => {
    const { asked, call } = asking({ ...everything, deriveApprovalKey: () => 'echo' }, 'project')
    await call('Oslo')
    await call('Bergen')
    expect(asked).toMatchObject([{ keyByTool: true }, { keyByTool: true }])
  })
})

describe('a key that the host knows', () => {
  test.each<[string, ToolSketch, Partial<ExtensionSketch>]>([
    ['from a template', template, {}],
    ['from the name of the tool', { gated: true }, {}],
    [
      'from code that ships with the host', { gated: true, deriveApprovalKey: ({ city }) => city },
      { layer: 'bundled', inline: true },
    ],
  ])('%s is approved for the project', async (_, tool, more) => {
    const { world, asked, call } = asking(tool, 'project', more)
    await call('Oslo')
    await call('Oslo')
    expect(asked).toHaveLength(1)
    expect(asked[0]).not.toHaveProperty('keyByTool')
    expect((await world.host.approvals.list()).map(({ scope }) => scope)).toEqual(['project'])
  })
})

test('explain does not suggest a project approval for a derived key', async () => {
  const { open } = asking(everything, 'once')
  const { remedies } = await (await open()).explain({ id: 'c', name: 'echo', arguments: {} })
  expect(remedies[0]).toBe('Approve the key "everything" for the session.')
})
