/** The smallest valid manifest. */
export const smallest = {
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: 'weather', version: '1.4.0',
  tools: [{ name: 'forecast', description: 'The weather to come.', inputSchema: { type: 'object' } }],
}
const tool = smallest.tools[0]!
const withTool = (fields: object) => ({ ...smallest, tools: [{ ...tool, ...fields }] })

export const whole = {
  ...smallest,
  $schema: './node_modules/@bulkhead/contract/schema/manifest.schema.json',
  title: 'Weather', description: 'Forecasts.', main: './dist/index.js',
  configSchema: { type: 'object', additionalProperties: false, properties: { unit: { enum: ['C', 'F'] } } },
  stateSlot: { slotVersion: '1', schema: { type: 'object' }, driftPolicy: 'migrate' },
  loadedCardinality: { kind: 'n', n: 2 }, activeCardinality: 'one',
  discoveryRules: { folder: 'tools', activation: 'eager' },
  reloadBehavior: 'never', env: ['WEATHER_TOKEN'],
  secrets: [{ name: 'WEATHER_KEY', hosts: ['api.weather.example'], commands: ['git'] }], dependsOn: ['clock'],
  tools: [{
    ...tool, label: 'Forecast', outputSchema: { type: 'string' },
    requires: { fs: { read: ['{workspace}/**'] }, net: { hosts: ['api.weather.example'] },
      shell: [{ cmd: 'git', args: ['log', { wildcard: true }, { prefix: '-' }] }], capabilities: ['interact'] },
    gated: true, approvalKey: '{city}', mode: 'external', kind: 'fetch', idempotent: true, timeoutMs: 10_000,
    maxOutput: '200KB',
    examples: [{ arguments: { city: 'Lisbon' }, result: 'sunny' }, { arguments: { city: '' }, error: 'NotFound' }],
  }],
  _meta: { 'com.example.badge': { color: 'red' } },
}

export const valid: readonly (readonly [string, unknown])[] = [
  ['the smallest', smallest],
  ['the whole', whole],
  ['a state of none', { ...smallest, stateSlot: 'none' }],
  ['a state of null', { ...smallest, stateSlot: null }],
  ['a prerelease with build metadata', { ...smallest, version: '1.0.0-rc.1+sha.5' }],
  ['a main of .mjs', { ...smallest, main: './a-b/_c.d.mjs' }],
  ['a hidden folder for main', { ...smallest, main: './.out/..x/index.js' }],
  ['a size in bytes', withTool({ maxOutput: 1024 })],
  ['a name of 64 characters', withTool({ name: 'a'.repeat(64) })],
  ['an empty output schema', withTool({ outputSchema: {} })],
]

/** Each with the path of the fault. */
export const invalid: readonly (readonly [string, unknown, string])[] = [
  ['a list', [], ''],
  ['an unknown key', { ...smallest, permissions: ['all'] }, ''],
  ['another kind', { ...smallest, kind: 'Hook' }, '/kind'],
  ['no kind', (({ kind: _, ...rest }) => rest)(smallest), '/kind'],
  ['a contract range', { ...smallest, contractVersion: '^1.0.0' }, '/contractVersion'],
  ['a contract with a leading zero', { ...smallest, contractVersion: '01.0.0' }, '/contractVersion'],
  ['an empty core range', { ...smallest, requiredCoreVersion: '' }, '/requiredCoreVersion'],
  ['an id in upper case', { ...smallest, id: 'Weather' }, '/id'],
  ['an id that is a path', { ...smallest, id: '../x' }, '/id'],
  ['an id with a line break', { ...smallest, id: 'weather\n' }, '/id'],
  ['a short version', { ...smallest, version: '1.4' }, '/version'],
  ['a version with a leading zero', { ...smallest, version: '1.04.0' }, '/version'],
  ['a prerelease with a leading zero', { ...smallest, version: '1.0.0-01' }, '/version'],
  ['an empty title', { ...smallest, title: '' }, '/title'],
  ['a description that is too long', { ...smallest, description: 'x'.repeat(4097) }, '/description'],
  ...[
    'index.js', '/abs/index.js', './../index.js', './a/../b.js', './a/..\n/../b.js', './.', './..', './a/./b.js',
    './a//b.js', './a\\b.js', './c:/b.js', './a.tsx', './a.cjs', './.js/', '././a.js', './\0.js', './a\n.js',
  ].map((main) => [`the main ${JSON.stringify(main)}`, { ...smallest, main }, '/main'] as const),
  [
    'a configSchema that is open', { ...smallest, configSchema: { type: 'object' } },
    '/configSchema/additionalProperties',
  ],
  [
    'a configSchema of a list', { ...smallest, configSchema: { type: 'array', additionalProperties: false } },
    '/configSchema/type',
  ],
  ['a state without a version', { ...smallest, stateSlot: { schema: {} } }, '/stateSlot'],
  [
    'a state with an unknown policy',
    { ...smallest, stateSlot: { slotVersion: '1', schema: {}, driftPolicy: 'ignore' } }, '/stateSlot',
  ],
  ['a state that is a string', { ...smallest, stateSlot: 'some' }, '/stateSlot'],
  ['a cardinality of zero', { ...smallest, loadedCardinality: { kind: 'n', n: 0 } }, '/loadedCardinality/n'],
  ['an unknown activation', { ...smallest, discoveryRules: { activation: 'lazy' } }, '/discoveryRules/activation'],
  ['another folder', { ...smallest, discoveryRules: { folder: '../tools' } }, '/discoveryRules/folder'],
  ['an unknown reload behaviour', { ...smallest, reloadBehavior: 'always' }, '/reloadBehavior'],
  ['a variable with a value', { ...smallest, env: ['A=B'] }, '/env/0'],
  [
    'a secret with a value', { ...whole, secrets: [{ name: 'A=B', hosts: ['api.weather.example'] }] },
    '/secrets/0/name',
  ],
  [
    'a secret for a URL', { ...whole, secrets: [{ name: 'A', hosts: ['https://api.weather.example'] }] },
    '/secrets/0/hosts/0',
  ],
  ['a secret for no host', { ...whole, secrets: [{ name: 'A', hosts: [] }] }, '/secrets/0/hosts'],
  ['a secret for a path', { ...whole, secrets: [{ name: 'A', commands: ['/bin/sh'] }] }, '/secrets/0/commands/0'],
  ['a secret with an unknown key', { ...whole, secrets: [{ name: 'A', value: 'x' }] }, '/secrets/0'],
  ['a dependency that is no id', { ...smallest, dependsOn: ['Clock'] }, '/dependsOn/0'],
  ['no tools', { ...smallest, tools: [] }, '/tools'],
  [
    'too many tools',
    { ...smallest, tools: Array.from({ length: 129 }, (_, index) => ({ ...tool, name: `t${index}` })) }, '/tools',
  ],
  ['a tool with an unknown key', withTool({ execute: 'x' }), '/tools/0'],
  ['a tool name with a dot', withTool({ name: 'a.b' }), '/tools/0/name'],
  ['a tool name that is too long', withTool({ name: 'a'.repeat(65) }), '/tools/0/name'],
  ['an empty description of a tool', withTool({ description: '' }), '/tools/0/description'],
  ['a description of a tool that is too long', withTool({ description: 'x'.repeat(4_097) }), '/tools/0/description'],
  [
    'an input schema that is not of type object', withTool({ inputSchema: { type: 'string' } }),
    '/tools/0/inputSchema/type',
  ],
  ['no input schema', withTool({ inputSchema: undefined }), '/tools/0/inputSchema'],
  ['an output schema that is a string', withTool({ outputSchema: 'string' }), '/tools/0/outputSchema'],
  ['an unknown power', withTool({ requires: { gpu: true } }), '/tools/0/requires'],
  ['gated that is a string', withTool({ gated: 'yes' }), '/tools/0/gated'],
  ['an empty approval key', withTool({ approvalKey: '' }), '/tools/0/approvalKey'],
  ['an unknown mode', withTool({ mode: 'harmless' }), '/tools/0/mode'],
  ['an unknown kind of tool', withTool({ kind: 'paint' }), '/tools/0/kind'],
  ['a timeout of zero', withTool({ timeoutMs: 0 }), '/tools/0/timeoutMs'],
  ['a timeout over an hour', withTool({ timeoutMs: 3_600_001 }), '/tools/0/timeoutMs'],
  ['a fractional timeout', withTool({ timeoutMs: 0.5 }), '/tools/0/timeoutMs'],
  ['a size in another unit', withTool({ maxOutput: '1GB' }), '/tools/0/maxOutput'],
  ['a size beyond any result', withTool({ maxOutput: '9999999999MB' }), '/tools/0/maxOutput'],
  ['a number of bytes beyond any result', withTool({ maxOutput: 1e12 }), '/tools/0/maxOutput'],
  ['a deadline of years', withTool({ timeoutMs: 1e12 }), '/tools/0/timeoutMs'],
  ['a thousand million entries', withTool({ maxEntries: 1e9 }), '/tools/0/maxEntries'],
]
