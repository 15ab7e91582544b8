import { expect, it } from 'vitest'
import { createWorld } from '../twin/world.ts'

const READS = { requires: { fs: { read: ['docs/**'] } } }
const WRITES = { requires: { fs: { write: ['docs/**'] } } }
const AGENT = { name: 'scribe', requires: { fs: { read: ['docs/**', 'notes/**'] } } }

const opened = async (agentsRequire: 'narrows' | 'adds' | undefined, agent: object = AGENT) => {
  const { host } = createWorld({
    extensions: [{ tools: { look: READS, store: WRITES } }], agents: [AGENT], ...(agentsRequire && { agentsRequire }),
  })
  const session = await host.openSession({ agent: agent as typeof AGENT, mode: 'yolo' })
  const run = async (name: string) => {
    const outcome = await session.call({ id: name, name, arguments: {} })
    return outcome.type === 'output' ? 'done' : outcome.error.code
  }
  return { host, session, run }
}

it.each([undefined, 'narrows'] as const)(
  'requires of an agent without a ceiling narrows: %s',
  async (agentsRequire) => {
    const { host, session, run } = await opened(agentsRequire)
    expect([await run('look'), await run('store')]).toEqual(['done', 'CapabilityDenied'])
    expect(session.surface().words).toEqual(['read /work space/docs/**'])
    expect(host.diagnostics).toMatchObject([
      { code: 'AgentInvalid', severity: 'warning', path: '/requires' },
      { code: 'AgentInvalid', severity: 'warning', path: '/requires' },
    ])
  },
)

it('where it adds, a new tool needs no change of the agent, and no tool gets more', async () => {
  const { host, session, run } = await opened('adds')
  expect([await run('look'), await run('store')]).toEqual(['done', 'done'])
  expect(session.surface().words).toEqual([
    'read /work space/docs/**', 'read /work space/notes/**', 'write /work space/docs/**',
  ])
  expect(session.surface().items[1]).toMatchObject({ tools: [], agent: true })
  expect(host.diagnostics).toEqual([])
})

it('a ceiling narrows in both', async () => {
  for (const agentsRequire of ['narrows', 'adds'] as const) {
    const { session, run } = await opened(agentsRequire, { ...AGENT, ceiling: { fs: { read: ['**'] } } })
    expect([await run('look'), await run('store')]).toEqual(['done', 'CapabilityDenied'])
    expect(session.surface().words).toEqual(['read /work space/docs/**', 'read /work space/notes/**'])
  }
})
