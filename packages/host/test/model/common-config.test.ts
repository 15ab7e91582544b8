import type { ConfigFile } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { createWorld } from '../twin/world.ts'

const SCHEMA = { type: 'object', additionalProperties: false, properties: { units: { type: 'string' } } }
const OWN = {
  ...SCHEMA, properties: { ...SCHEMA.properties, enabled: { type: 'boolean' }, timeoutMs: { type: 'integer' } },
}

const NEVER = () => new Promise(() => {})

const worldOf = (config: ConfigFile, configSchema: JsonObject = SCHEMA) =>
  createWorld({
    extensions: [
      {
        id: 'weather', configSchema,
        tools: { forecast: { timeoutMs: 70, execute: NEVER }, tides: { timeoutMs: 70, execute: NEVER } },
      },
    ],
    config,
  })

const deadlines = async (host: ReturnType<typeof worldOf>['host']): Promise<unknown> => {
  const session = await host.openSession({ mode: 'yolo' })
  const outcomes = await Promise.all(
    ['forecast', 'tides'].map((name) => session.call({ id: name, name, arguments: {} })),
  )
  return outcomes.map((outcome) => outcome.type === 'error' ? /\d+ ms/.exec(outcome.error_text)?.[0] : outcome)
}

it('`enabled: false` of an extension disables its tools, unless a tool has its own setting', async () => {
  const { host } = worldOf({
    extensions: { weather: { config: { enabled: false, units: 'metric' } } }, tools: { tides: { enabled: true } },
  })
  expect(host.diagnostics).toEqual([])
  expect(host.tools().map(({ name }) => name)).toEqual(['tides'])
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'c', name: 'forecast', arguments: {} })).toMatchObject({
    error: { code: 'ToolsDisabled' },
  })
})

it('`timeoutMs` of an extension is the deadline of its tools, unless a tool has its own', async () => {
  const { host } = worldOf({
    extensions: { weather: { config: { timeoutMs: 30 } } }, tools: { tides: { timeoutMs: 20 } },
  })
  expect(await deadlines(host)).toEqual(['30 ms', '20 ms'])
})

it('the extension does not get these keys, unless it declares them', async () => {
  const configOf = async (configSchema: JsonObject): Promise<unknown> => {
    const world = worldOf(
      { extensions: { weather: { config: { enabled: true, timeoutMs: 3_000, units: 'metric' } } } }, configSchema,
    )
    const session = await world.host.openSession({ mode: 'yolo' })
    await session.call({ id: 'c', name: 'forecast', arguments: {} })
    return world.compartment('weather').request.config
  }
  expect(await configOf(SCHEMA)).toEqual({ units: 'metric' })
  expect(await configOf(OWN)).toEqual({ enabled: true, timeoutMs: 3_000, units: 'metric' })
})

it('a key that the extension declares belongs to the extension', async () => {
  const { host } = worldOf({ extensions: { weather: { config: { enabled: false, timeoutMs: 30 } } } }, OWN)
  expect(await deadlines(host)).toEqual(['70 ms', '70 ms'])
})

it('a value of the wrong type is rejected', () => {
  const { host } = worldOf({ extensions: { weather: { config: { enabled: 'no' } } } })
  expect([host.tools(), host.diagnostics.map(({ code }) => code)]).toEqual([[], ['ConfigSchemaViolation']])
})

it('the sizes of a tool are settings', async () => {
  const execute = () => ({ text: 'x'.repeat(5_000), list: Array.from({ length: 50 }, (_, index) => index) })
  const settings = { echo: { maxOutput: '2KB', maxEntries: 10, unknown: true } }
  const world = createWorld({ extensions: [{ tools: { echo: { execute } } }], config: { tools: settings } })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c1', name: 'echo', arguments: {} })
  if (outcome.type === 'error') throw new Error(outcome.error_text)
  const { text, list } = outcome.data as { readonly text: string; readonly list: readonly number[] }
  expect(list).toHaveLength(10)
  expect(text.length).toBeGreaterThan(1_500)
  expect(text.length).toBeLessThan(2_048)
})
