import { DEFAULT_LIMITS, type ConfigFile } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { arrange, Settings } from '../../src/model/settings.ts'
import { sketchExtension, type ExtensionSketch } from '../twin/world.ts'

const arranged = (sketch: ExtensionSketch, config: ConfigFile = {}) => arrange(
  sketchExtension(sketch).descriptor, new Settings({ merged: config, layers: [] }),
)

test.each<[string, ExtensionSketch, ConfigFile, string]>([
  ['a stranger gets a process', {}, {}, 'process'],
  ['a project\'s gets one too', { layer: 'project' }, {}, 'process'],
  ['code of ours runs inline', { layer: 'bundled', inline: true }, { isolation: { bundled: 'process' } }, 'inline'],
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

test('a stranger never runs inline, whatever a configuration says that was not checked', () => {
  const config = { isolation: { global: 'inline' } } as unknown as ConfigFile
  expect(arranged({}, config).placement).toBe('process')
})

test('limits: the extension\'s over the host\'s over the defaults', () => {
  const { limits } = arranged({}, { limits: { heapMb: 1, phaseMs: 2 }, extensions: { sample: { limits: { heapMb: 3 } } } })
  expect(limits).toEqual({ ...DEFAULT_LIMITS, heapMb: 3, phaseMs: 2 })
})

test('one compartment, unless the extension was given several', () => {
  expect(arranged({}).compartments).toBe(1)
  expect(arranged({}, { extensions: { sample: { compartments: 3 } } }).compartments).toBe(3)
})

test('configuration: the extension\'s, and over it the own keys of its tools', () => {
  const { config } = arranged({ tools: { echo: {} } }, {
    tools: {
      echo: { enabled: true, timeoutMs: 5, unit: 'C' }, other: { stray: 1 },
    }, extensions: { sample: { config: { unit: 'F', lang: 'no' } } },
  })
  expect(config).toEqual({ unit: 'C', lang: 'no' })
})

test('when it starts: the configuration over the manifest over the first call', () => {
  expect(arranged({}).activation).toBe('first-call')
  expect(arranged({ discoveryRules: { activation: 'eager' } }).activation).toBe('eager')
  expect(
    arranged({ discoveryRules: { activation: 'eager' } }, { extensions: { sample: { activation: 'first-call' } } }).activation,
  ).toBe('first-call')
})
