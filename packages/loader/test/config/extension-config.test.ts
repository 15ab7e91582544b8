import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

describe('the configuration of an extension', () => {
  const configSchema = {
    type: 'object', additionalProperties: false, required: ['base'],
    properties: {
      base: { type: 'string', pattern: '^https?://' }, days: { type: 'integer', maximum: 10 },
      code: { type: 'string', pattern: '^(a+)+$' },
    },
  }
  const manifest = manifestOf({ configSchema, tools: [toolOf()] })
  const base = 'https://api.example'

  test.each([
    ['is valid', { extensions: { weather: { config: { base, days: 3 } } } }, undefined],
    ['lacks a required value', {}, '/extensions/weather/config/base'],
    [
      'has a value of the wrong type', { extensions: { weather: { config: { base, days: '3' } } } },
      '/extensions/weather/config/days',
    ],
    [
      'has an unknown key', { extensions: { weather: { config: { base, dayz: 3 } } } },
      '/extensions/weather/config/dayz',
    ],
    [
      'has a value that does not match the pattern',
      { extensions: { weather: { config: { base: 'nowhere at all' } } } }, '/extensions/weather/config/base',
    ],
    [
      'fits for a tool, over that of the extension',
      { extensions: { weather: { config: { base } } }, tools: { forecast: { days: 3, timeoutMs: 5, enabled: true } } },
      undefined,
    ],
    [
      'is wrong for a tool', { extensions: { weather: { config: { base } } }, tools: { forecast: { days: 30 } } },
      '/tools/forecast/days',
    ],
    [
      'is of the wrong type for a tool',
      { extensions: { weather: { config: { base } } }, tools: { forecast: { maxOutput: '1 KB' } } },
      '/tools/forecast/maxOutput',
    ],
    [
      'is for another tool', { extensions: { weather: { config: { base } } }, tools: { other: { dayz: 3 } } },
      undefined,
    ],
  ])('%s', async (_, config, path) => {
    using home = new HomeFixture()
    const folder = home.extension(home.globalRoot, 'weather', manifest)
    const location = home.write(configOf(home.projectRoot), config)
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toHaveLength(path === undefined ? 1 : 0)
    expect(diagnostics).toMatchObject(
      path === undefined
        ? []
        : [
            {
              stage: 'configSchema', code: 'ConfigSchemaViolation', extensionId: 'weather', path,
              location: Object.keys(config).length === 0 ? folder : location,
            },
          ],
    )
  })

  test('reports an unknown setting of a tool, and keeps the tool', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', manifest)
    const location = home.write(configOf(home.projectRoot), {
      extensions: { weather: { config: { base } } }, tools: { forecast: { dayz: 3, maxOutput: '1KB' } },
    })
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toHaveLength(1)
    expect(diagnostics).toMatchObject([{
      code: 'ConfigSchemaViolation', severity: 'warning', path: '/tools/forecast/dayz', location,
      message: 'The configuration at /tools/forecast/dayz is not a setting of the tool. It has no effect.',
    }])
  })

  test('checks a value against an exponential pattern in linear time', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', manifest)
    const { diagnostics } = await home.load(
      {}, 'trusted', { extensions: { weather: { config: { base, code: `${'a'.repeat(100_000)}!` } } } },
    )
    expect(diagnostics).toMatchObject(
      [{ code: 'ConfigSchemaViolation', path: '/extensions/weather/config/code', location: 'overrides' }],
    )
  })
})
