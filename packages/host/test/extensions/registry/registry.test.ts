import { expect, test } from 'vitest'
import { createRegistry } from '../../twin/registry.ts'
import { sketchExtension, type ExtensionSketch } from '../../twin/world.ts'

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } }
const bundledRead: ExtensionSketch = {
  id: 'core', layer: 'bundled', tools: { read: { inputSchema: SCHEMA, requires: { fs: { read: ['{workspace}'] } } } },
}
const origins = (sketches: readonly ExtensionSketch[]) =>
  createRegistry({ extensions: sketches }).list().map(({ name, layer, extension }) => `${name}: ${layer}/${extension}`)
const faults = (sketches: readonly ExtensionSketch[]) =>
  createRegistry({ extensions: sketches }).diagnostics.map(
    ({ code, layer, extensionId, path }) => `${code} ${layer}/${extensionId} ${path}`,
  )

test('a later layer provides a name, and the list shows the hidden tools, nearest first', () => {
  const registry = createRegistry({
    extensions: [
      { id: 'a', layer: 'bundled', version: '1.0.0' },
      { id: 'b', layer: 'global', version: '2.0.0' },
      { id: 'c', layer: 'project', version: '3.0.0' },
    ],
  })
  expect(registry.list()).toMatchObject([
    {
      name: 'echo', layer: 'project', extension: 'c', version: '3.0.0', state: 'validated', integrity: 'unpinned',
      shadows: [
        { layer: 'global', extension: 'b', version: '2.0.0' }, { layer: 'bundled', extension: 'a', version: '1.0.0' },
      ],
    },
  ])
})

test('unregistering restores hidden tools, layer by layer', () => {
  const registry = createRegistry({
    extensions: [{ id: 'a', layer: 'bundled' }, { id: 'b' }, { id: 'c', layer: 'project' }],
  })
  const answering = () => registry.view.listing('echo')?.extension
  expect(answering()).toBe('c')
  expect(registry.unregister('c', 'project').map(({ descriptor }) => descriptor.id)).toEqual(['c'])
  expect(answering()).toBe('b')
  expect(registry.unregister('c', 'project')).toEqual([])
  registry.unregister('a', 'bundled')
  expect(answering()).toBe('b')
  expect(registry.list()[0]?.shadows).toEqual([])
  registry.unregister('b', 'global')
  expect(answering()).toBeUndefined()
})

test('a replaced extension does not offer the tools that its replacement dropped, until that is removed', () => {
  const registry = createRegistry({
    extensions: [
      { id: 'weather', version: '1.0.0', tools: { forecast: {}, alerts: {} } },
      { id: 'weather', layer: 'project', version: '2.0.0', tools: { forecast: {} } },
    ],
  })
  expect(registry.list().map(({ name, version }) => `${name} ${version}`)).toEqual(['forecast 2.0.0'])
  registry.unregister('weather', 'project')
  expect(registry.list().map(({ name, version }) => `${name} ${version}`)).toEqual(['alerts 1.0.0', 'forecast 1.0.0'])
})

test('every registration increases the generation', () => {
  const registry = createRegistry({ extensions: [{ id: 'a' }] })
  const first = registry.view.listing('echo')!.generation
  registry.unregister('a', 'global')
  expect(registry.view.listing('echo')?.generation).toBeUndefined()
  registry.register([sketchExtension({ id: 'a' }).descriptor])
  expect(registry.view.listing('echo')?.generation).toBeGreaterThan(first)
})

test('two extensions with one tool name in one layer are both rejected, and a lower layer provides it', () => {
  const sketches: readonly ExtensionSketch[] = [
    { id: 'low', layer: 'bundled' }, { id: 'a' }, { id: 'b' }, { id: 'c', tools: { other: {} } },
  ]
  expect(origins(sketches)).toEqual(['echo: bundled/low', 'other: global/c'])
  expect(faults(sketches)).toEqual([
    'RegistrationConflict global/a /tools/0/name', 'RegistrationConflict global/b /tools/0/name',
  ])
})

test('two extensions with one id in one layer are both rejected', () => {
  const sketches: readonly ExtensionSketch[] = [
    { id: 'a', version: '1.0.0' }, { id: 'a', version: '2.0.0' }, { id: 'a', layer: 'bundled' },
  ]
  expect(origins(sketches)).toEqual(['echo: bundled/a'])
  expect(faults(sketches)).toEqual(['RegistrationConflict global/a /id', 'RegistrationConflict global/a /id'])
})

test('one invalid tool rejects the whole extension, with its location and the layer that is used instead', () => {
  const registry = createRegistry({
    extensions: [
      { id: 'a', version: '1.0.0' },
      { id: 'a', layer: 'project', tools: { fine: {}, echo: { inputSchema: { type: 'object', required: 'path' } } } },
    ],
  })
  expect(registry.list().map(({ name, layer }) => `${name}: ${layer}`)).toEqual(['echo: global'])
  expect(registry.diagnostics).toMatchObject([
    {
      severity: 'error', stage: 'register', code: 'ConfigSchemaInvalid', layer: 'project', extensionId: 'a',
      path: '/tools/1/inputSchema', fallbackTo: 'global', cure: expect.stringContaining('schema'),
      location: '/layers/project/a',
    },
  ])
})

test('a higher layer is not a fallback', () => {
  const registry = createRegistry({
    extensions: [{ id: 'a', dependsOn: ['gone'] }, { id: 'a', layer: 'project', version: '2.0.0' }],
  })
  expect(registry.list()).toMatchObject([{ layer: 'project' }])
  registry.unregister('a', 'project')
  expect(registry.diagnostics).toMatchObject([{ code: 'DependencyMissing', layer: 'global' }])
  registry.register([sketchExtension({ id: 'a', layer: 'project', version: '2.0.0' }).descriptor])
  expect(registry.diagnostics.every((diagnostic) => diagnostic.fallbackTo === undefined)).toBe(true)
})

test('an invalid approval key or state schema is found before anything runs', () => {
  expect(
    faults([{ tools: { echo: { approvalKey: 'no placeholder' } } }]),
  ).toEqual(['ApprovalKeyInvalid global/sample /tools/0/approvalKey'])
  expect(
    faults([{ stateSlot: { slotVersion: '1', schema: { type: 'nothing' } } }]),
  ).toEqual(['ConfigSchemaInvalid global/sample /stateSlot/schema'])
})

test.each<[string, ExtensionSketch, readonly string[]]>([
  [
    'equal to it', { tools: { read: { inputSchema: { properties: { path: { type: 'string' } }, type: 'object' } } } },
    [],
  ],
  ['narrower', { tools: { read: { inputSchema: SCHEMA, requires: { fs: { read: ['{workspace}/docs'] } } } } }, []],
  [
    'with another schema', { tools: { read: { inputSchema: { type: 'object' } } } },
    ['LockedIdRedefined project/mine /tools/0/inputSchema'],
  ],
  [
    'that wants more',
    { tools: { read: { inputSchema: SCHEMA, requires: { fs: { read: ['{workspace}'], write: ['{workspace}'] } } } } },
    ['LockedIdRedefined project/mine /tools/0/requires'],
  ],
  [
    'of which the host has no original',
    { tools: { grep: { inputSchema: SCHEMA } } },
    ['LockedIdRedefined project/mine /tools/0/name'],
  ],
])('a locked name taken by a tool %s', (_, sketch, expected) => {
  const sketches = [bundledRead, { id: 'mine', layer: 'project', ...sketch } as const]
  expect(faults(sketches)).toEqual(expected)
  expect(origins(sketches)).toEqual([expected.length === 0 ? 'read: project/mine' : 'read: bundled/core'])
})

test('a disabled locked tool still limits its replacement', () => {
  const registry = createRegistry({
    extensions: [bundledRead, { ...bundledRead, id: 'mine', layer: 'project' }],
    config: { extensions: { core: { enabled: false } } },
  })
  expect(registry.list()).toMatchObject([{ name: 'read', extension: 'mine' }])
})

test('a missing dependency and a cycle reject the extensions concerned, and their dependents', () => {
  const sketches: readonly ExtensionSketch[] = [
    { id: 'a', dependsOn: ['gone'], tools: { a: {} } }, { id: 'b', dependsOn: ['a'], tools: { b: {} } },
    {
      id: 'c', dependsOn: ['d'], tools: { c: {} },
    }, { id: 'd', dependsOn: ['c'], tools: { d: {} } }, { id: 'e', tools: { e: {} } },
  ]
  expect(origins(sketches)).toEqual(['e: global/e'])
  expect(faults(sketches)).toEqual([
    'DependencyMissing global/a /dependsOn/0', 'DependencyCycle global/c /dependsOn/0',
    'DependencyCycle global/d /dependsOn/0',
    'DependencyMissing global/b /dependsOn/0',
  ])
})

test('a rejected override falls back, and its dependents use the fallback', () => {
  const sketches: readonly ExtensionSketch[] = [
    { id: 'base', tools: { base: {} } }, {
      id: 'base', layer: 'project', dependsOn: ['gone'], tools: { base: {} },
    }, { id: 'top', layer: 'project', dependsOn: ['base'], tools: { top: {} } },
  ]
  expect(origins(sketches)).toEqual(['base: global/base', 'top: project/top'])
})

test('a tool that the configuration disables is not listed, and the error gives the reason', () => {
  const extensions: readonly ExtensionSketch[] = [
    { id: 'a', tools: { one: {}, two: {} } }, { id: 'b', tools: { three: {} } },
  ]
  const some = createRegistry({
    extensions, config: { tools: { one: { enabled: false } }, extensions: { b: { enabled: false } } },
  })
  expect(some.list().map(({ name }) => name)).toEqual(['two'])
  expect(some.offered().switchedOff('one')).toContain('"one"')
  expect(some.offered().switchedOff('two')).toBeUndefined()
  expect(some.offered().get('three')).toBeUndefined()
  const all = createRegistry({ extensions, config: { toolsEnabled: false } })
  expect(all.list()).toEqual([])
  expect(all.offered().switchedOff('two')).toBe('Tools are disabled by the configuration.')
})

test('names of object prototypes are ordinary names', () => {
  const registry = createRegistry({ extensions: [{ id: 'constructor', tools: { toString: {}, valueOf: {} } }] })
  expect(registry.list().map(({ name }) => name)).toEqual(['toString', 'valueOf'])
  expect(registry.view.listing('hasOwnProperty')).toBeUndefined()
})

test('gated: false of a third party counts only for tools that cannot change or reach anything', () => {
  const effects = { net: { hosts: ['example.com'] } }
  const gates = createRegistry({
    extensions: [
      { id: 'ours', layer: 'bundled', tools: { bundled: { gated: false, requires: effects } } },
      {
        id: 'theirs',
        tools: {
          harmless: { gated: false }, reaching: { gated: false, requires: effects }, honest: { requires: effects },
        },
      },
    ],
  })
    .list()
    .map(({ name, gated, gatedByHost }) => ({ name, gated, gatedByHost }))
  expect(gates).toEqual([
    { name: 'bundled', gated: false, gatedByHost: false },
    { name: 'harmless', gated: false, gatedByHost: false },
    { name: 'honest', gated: true, gatedByHost: false },
    { name: 'reaching', gated: true, gatedByHost: true },
  ])
})

test('a third-party tool that gets variables, secrets or credentials is gated and does not count as reading', () => {
  const reads = { gated: false, mode: 'read' as const }
  const listed = createRegistry({
    extensions: [
      { id: 'varied', env: ['TOKEN'], tools: { varied: reads } },
      {
        id: 'secretive', secrets: [{ name: 'TOKEN', hosts: ['example.com'] }],
        tools: { secretive: { ...reads, requires: { net: { hosts: ['example.com'] } } } },
      },
      {
        id: 'curious',
        tools: {
          curious: { ...reads, requires: { fs: { read: ['{workspace}/.env*'] } } }, reader: reads,
          asking: { ...reads, requires: { capabilities: ['interact'] } },
        },
      },
      { id: 'ours', layer: 'bundled', env: ['TOKEN'], tools: { ours: reads } },
    ],
  })
    .list()
    .map(({ name, gated, gatedByHost, mode }) => [name, gated, gatedByHost, mode])
  expect(listed).toEqual([
    ['asking', false, false, 'local'], ['curious', true, true, 'read'], ['ours', false, false, 'read'],
    ['reader', false, false, 'read'], ['secretive', true, true, 'external'], ['varied', true, true, 'local'],
  ])
})

test('clearing removes everything and returns the extensions to stop, dependents first', () => {
  const registry = createRegistry({
    extensions: [{ id: 'a', tools: { a: {} } }, { id: 'b', dependsOn: ['a'], tools: { b: {} } }],
  })
  expect(registry.clear().map(({ descriptor }) => descriptor.id)).toEqual(['b', 'a'])
  expect(registry.list()).toEqual([])
})

test('an invalid tool of a server rejects that tool only, and is named', () => {
  const server = { kind: 'mcp' as const, name: 'shop', address: 'shop', tools: new Map() }
  const { descriptor } = sketchExtension({
    id: 'mcp-shop', tools: { good: {}, bad: { inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } }, fine: {} },
  })
  const registry = createRegistry({})
  registry.register([{ ...descriptor, server }])
  expect(registry.list().map(({ name }) => name)).toEqual(['fine', 'good'])
  expect(registry.diagnostics).toMatchObject([{
    code: 'ConfigSchemaInvalid', extensionId: 'mcp-shop', path: '/tools/1/inputSchema',
    message: expect.stringMatching(/^The tool "bad" of "shop" is not offered\..*without end/),
  }])
})

test('a pattern with lookaround does not reject a tool of a server', () => {
  const inputSchema = { type: 'object', properties: { mail: { type: 'string', pattern: '^(?!\\.)x' } } }
  const server = { kind: 'mcp' as const, name: 'shop', address: 'shop', tools: new Map() }
  const registry = createRegistry({})
  registry.register([{ ...sketchExtension({ id: 'mcp-shop', tools: { mail: { inputSchema } } }).descriptor, server }])
  expect(registry.list()).toHaveLength(1)
  expect(registry.view.offered.get('mail')?.definition.inputSchema).toEqual(inputSchema)
})

test('an extension that hides another one by its id is reported if a tool is missing then', () => {
  const git: ExtensionSketch = { id: 'git', layer: 'bundled', tools: { git: {}, blame: {} } }
  const hiding = (tools: NonNullable<ExtensionSketch['tools']>, id = 'git') =>
    createRegistry({ extensions: [git, { id, layer: 'project', tools }] }).diagnostics
  expect(hiding({ blame: {}, forge: {} })).toMatchObject([{
    severity: 'warning', code: 'RegistrationConflict', layer: 'project', extensionId: 'git', path: '/id',
    message: expect.stringMatching(/^The bundled extension "git" is not used, .* not offered: git\.$/),
  }])
  expect(hiding({ git: {}, blame: {} })).toEqual([])
  expect(hiding({ git: {} }, 'forge')).toEqual([])
})
