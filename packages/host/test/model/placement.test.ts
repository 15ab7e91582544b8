import { DEFAULT_LIMITS, type ConfigFile } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { arrange, Settings } from '../../src/model/settings.ts'
import { sketchExtension, type ExtensionSketch } from '../twin/world.ts'

const arranged = (sketch: ExtensionSketch, config: ConfigFile = {}) => arrange(
  sketchExtension(sketch).descriptor, new Settings({ merged: config, layers: [] }),
)

test.each<[string, ExtensionSketch, ConfigFile, string]>([
  ['third-party code gets a process', {}, {}, 'process'],
  ['a project\'s gets one too', { layer: 'project' }, {}, 'process'],
  ['bundled code runs inline', { layer: 'bundled', inline: true }, { isolation: { bundled: 'process' } }, 'inline'],
  ['the layer\'s placement counts', {}, { isolation: { global: 'thread' } }, 'thread'],
  [
    'the extension\'s own counts more',
    {},
    { isolation: { global: 'thread' }, extensions: { sample: { isolation: 'process' } } },
    'process',
  ],
  ['bundled files may be placed', { layer: 'bundled' }, { isolation: { bundled: 'inline' } }, 'inline'],
])('%s', (_, sketch, config, placement) => {
  expect(arranged(sketch, config).placement).toBe(placement)
})

test('third-party code never runs inline, also with an unchecked configuration', () => {
  const config = { isolation: { global: 'inline' } } as unknown as ConfigFile
  expect(arranged({}, config).placement).toBe('process')
})

test('limits of the extension override those of the host and the defaults', () => {
  const { limits } = arranged(
    {},
    { limits: { heapMb: 1, phaseMs: 2 }, extensions: { sample: { limits: { heapMb: 3 } } } },
  )
  expect(limits).toEqual({ ...DEFAULT_LIMITS, heapMb: 3, phaseMs: 2 })
})

test('an extension has one compartment by default', () => {
  expect(arranged({}).compartments).toBe(1)
  expect(arranged({}, { extensions: { sample: { compartments: 3 } } }).compartments).toBe(3)
})

test('the keys of its tools override the configuration of the extension', () => {
  const configSchema = { type: 'object', properties: { unit: {}, lang: {} }, additionalProperties: false }
  const { config } = arranged({ tools: { echo: {} }, configSchema }, {
    tools: {
      echo: { enabled: true, timeoutMs: 5, maxOutput: '1KB', unit: 'C', unti: 'K' }, other: { stray: 1 },
    }, extensions: { sample: { config: { unit: 'F', lang: 'no' } } },
  })
  expect(config).toEqual({ unit: 'C', lang: 'no' })
})

test('the configuration overrides the activation of the manifest', () => {
  expect(arranged({}).activation).toBe('first-call')
  expect(arranged({ discoveryRules: { activation: 'eager' } }).activation).toBe('eager')
  expect(
    arranged({ discoveryRules: { activation: 'eager' } }, { extensions: { sample: { activation: 'first-call' } } })
      .activation,
  ).toBe('first-call')
})

test('a narrower key of a project loosens neither the placement nor the limits that the user wrote', () => {
  const user: ConfigFile = { isolation: { global: 'process' }, limits: { heapMb: 8 } }
  const project: ConfigFile = { extensions: { sample: { isolation: 'thread', limits: { heapMb: 64, phaseMs: 9 } } } }
  const layers = [
    { layer: 'global', location: 'user', config: user }, { layer: 'project', location: 'project', config: project },
  ] as const
  const under = (...used: readonly (typeof layers)[number][]) =>
    arrange(sketchExtension({}).descriptor, new Settings({ merged: { ...user, ...project }, layers: used }))
  expect(under(...layers)).toMatchObject({ placement: 'process', limits: { heapMb: 8, phaseMs: 9 } })
  expect(under(layers[1])).toMatchObject({ placement: 'thread', limits: { heapMb: 64, phaseMs: 9 } })
})
