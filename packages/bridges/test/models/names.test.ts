import type { ToolDefinition } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toHostCall } from '../../src/models/host-call.ts'
import { providerNames } from '../../src/models/names.ts'
import { ANTHROPIC, DEEPSEEK, GEMINI, OPENAI } from '../../src/models/profiles.ts'
import { projectTool } from '../../src/models/project.ts'

const namesOf = (names: readonly string[], profile = OPENAI) => {
  const { of } = providerNames(names.map((name) => ({ name })), profile)
  return names.map((name) => of(name))
}

it('keeps legal names and replaces illegal characters', () => {
  expect(namesOf(['web_search', 'files.read', 'été'])).toEqual(['web_search', 'files_read', '_t_'])
  expect(namesOf(['files.read', '1st'], GEMINI)).toEqual(['files.read', '_1st'])
})

it('adds a hash to names that are too long or would be equal', () => {
  const long = 'x'.repeat(70)
  expect(namesOf(['a_b', 'a.b', 'c.d', 'c:d', long])).toEqual([
    'a_b', expect.stringMatching(/^a_b_[0-9a-f]{8}$/), expect.stringMatching(/^c_d_[0-9a-f]{8}$/),
    expect.stringMatching(/^c_d_[0-9a-f]{8}$/), expect.stringMatching(/^x{55}_[0-9a-f]{8}$/),
  ])
})

it('leaves a hashed name that is taken', () => {
  const [taken] = namesOf(['a.b', 'a:b'])
  expect(new Set(namesOf(['a.b', 'a:b', taken!])).size).toBe(3)
})

const PATTERNS = [
  [OPENAI, /^[A-Za-z0-9_-]{1,64}$/], [DEEPSEEK, /^[A-Za-z0-9_-]{1,64}$/], [ANTHROPIC, /^[A-Za-z0-9_-]{1,128}$/],
  [GEMINI, /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/],
] as const

it.each(PATTERNS)('maps any names to legal ones and back, in any order', (profile, pattern) => {
  const name = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '.', ':', '_', '1'), maxLength: 4 }), fc.string({ maxLength: 140 }),
  )
  fc.assert(fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
    const map = providerNames(names.map((one) => ({ name: one })), profile)
    const reversed = providerNames(names.toReversed().map((one) => ({ name: one })), profile)
    for (const one of names) {
      expect(map.of(one)).toMatch(pattern)
      expect(map.tool(map.of(one))).toBe(one)
      expect(reversed.of(one)).toBe(map.of(one))
    }
  }), { numRuns: 50 })
})

it.each([
  [OPENAI, ['filter[name]', 'filter_name_', 'x-y', 'kind']],
  [ANTHROPIC, [expect.stringMatching(/^filter_name__[0-9a-f]{8}$/), 'filter_name_', 'x-y', 'kind']],
  [GEMINI, [expect.stringMatching(/^filter_name__[0-9a-f]{8}$/), 'filter_name_', 'x_y', 'kind']],
])('maps names of arguments that the provider rejects, and back', (profile, expected) => {
  const text = { type: 'string' }
  const inputSchema = {
    type: 'object', properties: { 'filter[name]': text, filter_name_: text, 'x-y': text }, required: ['filter[name]'],
    allOf: [{ properties: { kind: text } }],
  }
  const tool = { name: 'list', executor: 'remote', inputSchema } as unknown as ToolDefinition
  const { schema } = projectTool(tool, profile, false)
  const names = Object.keys(schema['properties'] as object)
  expect(names).toEqual(expected)
  expect(schema['required']).toEqual([names[0]])
  const sent = Object.fromEntries(names.map((one) => [one, one]))
  const { arguments: args } = toHostCall({ id: 'c', name: 'list', arguments: sent }, { tools: [tool] }, profile)
  expect(Object.keys(args as object)).toEqual(['filter[name]', 'filter_name_', 'x-y', 'kind'])
})
