import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { servedWorld, type ServedWorld } from './served-world.ts'

const RAW = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')
const MODERN = 'https://json-schema.org/draft/2020-12/schema'
const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

const object = (text: object, more: object = {}) => ({
  type: 'object', ...more, properties: { text: { type: 'string', ...text } },
})
const SCHEMAS = {
  modern: object({}, { $schema: MODERN }),
  old: object({}, { $schema: DRAFT_07, additionalProperties: false }),
  converted: object({}, { $schema: DRAFT_07, dependencies: { text: ['other'] } }),
  older: object({}, { $schema: 'http://json-schema.org/draft-04/schema#' }),
  plain: object({}),
  punctuation: object({ pattern: '^a\\-b\\:c\\@d\\"\\#\\%\\ $' }),
  letters: object({ pattern: '\\A[a-z]+\\Z' }),
  spaces: object({ pattern: '^\\S\\s$' }),
}

let folder: string
let world: ServedWorld
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-schemas-'))
  const tools = Object.entries(SCHEMAS).map(([name, inputSchema]) => ({ name, inputSchema }))
  const responses = Object.fromEntries(
    tools.map(({ name }) => [name, '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}']),
  )
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ tools, responses }))
  const ship = { type: 'local' as const, command: [process.execPath, RAW, join(folder, 'script.json')], jail: false }
  world = await servedWorld({ config: { mcp: { ship } } })
})
afterEach(async () => {
  await world.end()
  rmSync(folder, { recursive: true })
})

it('no pattern of a server costs a tool, and its dialect reaches a client', async () => {
  const client = await world.connect('modern', () => ({ action: 'accept', content: { decision: 'once' } }))
  const { tools } = await client.listTools()
  const dialectOf = (name: string) => tools.find((tool: Tool) => tool.name === `ship_${name}`)?.inputSchema['$schema']
  expect(Object.keys(SCHEMAS).map((name) => [name, dialectOf(name)])).toEqual([
    ['modern', MODERN], ['old', DRAFT_07], ['converted', MODERN], ['older', MODERN], ['plain', undefined],
    ['punctuation', undefined], ['letters', undefined], ['spaces', undefined],
  ])
  const warnings = world.host.diagnostics.filter(({ code }) => code === 'ConfigSchemaInvalid')
  expect(warnings).toMatchObject([{
    severity: 'warning', path: '/tools/ship_letters/inputSchema/properties/text/pattern',
    message: expect.stringContaining('not enforced: ECMAScript does not define the escape \\A'),
  }])
  const isAccepted = async (name: string, text: string) =>
    (await client.callTool({ name: `ship_${name}`, arguments: { text } })).isError !== true
  expect([await isAccepted('punctuation', 'a-b:c@d"#% '), await isAccepted('punctuation', 'a-b')]).toEqual([
    true, false,
  ])
  expect([
    await isAccepted('letters', '123'), await isAccepted('spaces', 'a\u00a0'), await isAccepted('spaces', '\u00a0a'),
  ]).toEqual([true, true, false])
})
