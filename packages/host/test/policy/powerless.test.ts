import { expect, test } from 'vitest'
import { createWorld, verdictOf, type ExtensionSketch } from '../twin/world.ts'

const NOTHING = { gated: false, requires: {} } as const

async function ran(sketch: ExtensionSketch): Promise<string> {
  const { host } = createWorld({ extensions: [sketch] })
  const session = await host.openSession()
  return verdictOf(await session.call({ id: 'c', name: 'word', arguments: {} }))
}

test('an ungated tool that can do nothing but answer runs without a question', async () => {
  expect(await ran({ tools: { word: NOTHING } })).toBe('output')
})

test.each<[string, ExtensionSketch]>([
  ['is gated', { tools: { word: { requires: {} } } }],
  ['says that it acts on this machine', { tools: { word: { ...NOTHING, mode: 'local' } } }],
  ['gets variables', { env: ['LANG'], tools: { word: NOTHING } }],
  ['keeps notes for the session', { tools: { word: { gated: false, requires: { capabilities: ['session'] } } } }],
  ['calls tools', { tools: { word: { gated: false, requires: { capabilities: ['tools.call'] } } } }],
  [
    'shares its compartment with a tool that can write',
    { tools: { word: NOTHING, other: { requires: { fs: { write: ['a'] } } } } },
  ],
  ['is registered in code', { layer: 'global', inline: true, tools: { word: NOTHING } }],
])('one that %s asks', async (_, sketch) => {
  expect(await ran(sketch)).toBe('ApprovalDenied')
})
