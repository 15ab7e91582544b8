import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorCode, ValidationStage } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf, toolOf } from './home-fixture.ts'

interface Malformed {
  readonly name: string
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly path: string
  /** Relative to the folder of the extension; bulkhead.json unless said otherwise. */
  readonly file?: string
  readonly message: RegExp
}
interface MalformedManifest extends Malformed {
  readonly manifest: string | Uint8Array | object
}
interface MalformedFolder extends Malformed {
  readonly spoil: (location: string, home: HomeFixture) => void
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const good = JSON.stringify(manifestOf())
const withTool = (over: Record<string, unknown>) => manifestOf({ tools: [toolOf(over)] })
const withInput = (schema: object) => withTool({ inputSchema: { type: 'object', ...schema } })
const nested = (depth: number): object => depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } }
const doubling = Object.fromEntries(Array.from({ length: 24 }, (_, index) =>
  [`d${index}`, index === 23 ? { type: 'string' } : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }]))

const shape = (name: string, manifest: MalformedManifest['manifest'], path: string, message: RegExp, code: ErrorCode = 'ShapeInvalid'): MalformedManifest =>
  ({ name, manifest, stage: 'shape', code, path, message })
const schema = (name: string, manifest: object, path: string, message: RegExp): MalformedManifest =>
  ({ name, manifest, stage: 'configSchema', code: 'ConfigSchemaInvalid', path, message })

const manifests: readonly MalformedManifest[] = [
  shape('an empty file', '', '', /is not JSON/),
  shape('half a file', good.slice(0, 40), '', /is not JSON/),
  shape('not an object', '[]', '', /expected object/),
  shape('not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), '', /not UTF-8/),
  shape('a byte order mark', utf8(`\u{feff}${good}`), '', /byte order mark/),
  shape('a key twice', good.replace('{', '{"kind":"Tool",'), '/kind', /twice/, 'DuplicateJsonKey'),
  shape('a key twice, once escaped', good.replace('{', '{"\\u006bind":"Tool",'), '/kind', /twice/, 'DuplicateJsonKey'),
  shape('a key twice deep inside', good.replace('"type":"object"', '"type":"object","type":"object"'), '/tools/0/inputSchema/type', /twice/, 'DuplicateJsonKey'),
  shape('a prototype', good.replace('{', '{"__proto__":{},'), '/__proto__', /__proto__ is refused/),
  shape('half a surrogate pair', good.replace('What the weather', '\\ud800'), '/tools/0/description', /surrogate/),
  shape('a number beyond all numbers', good.replace('{', '{"x":1e999,'), '/x', /not a JSON number/),
  shape('nesting without end', good.replace('{', `{"x":${'['.repeat(80)}${']'.repeat(80)},`), '/x' + '/0'.repeat(63), /nested more than/),
  shape('an unknown key', { ...manifestOf(), lifecycle: {} }, '/lifecycle', /not a known key/),
  shape('an unknown key of a tool', withTool({ execute: 'rm -rf' }), '/tools/0/execute', /not a known key/),
  shape('another kind', manifestOf({ kind: 'Provider' as never }), '/kind', /expected "Tool"/),
  shape('no id', { ...manifestOf(), id: undefined }, '/id', /expected string/),
  shape('an id with a path in it', manifestOf({ id: '../up' }), '/id', /lower-case letter/),
  shape('an id in capitals', manifestOf({ id: 'Weather' }), '/id', /lower-case letter/),
  shape('a version that is none', manifestOf({ version: 'latest' }), '/version', /a version such as/),
  shape('a contract version that is a range', manifestOf({ contractVersion: '^1.0.0' }), '/contractVersion', /a version such as/),
  shape('no tools', manifestOf({ tools: [] }), '/tools', /Too small/),
  shape('a tool name with a space', withTool({ name: 'fore cast' }), '/tools/0/name', /a letter/),
  shape('a tool name in look-alike letters', withTool({ name: 'rеad' }), '/tools/0/name', /a letter/),
  shape('two tools of one name', manifestOf({ tools: [toolOf(), toolOf()] }), '/tools/1/name', /forecast too/),
  shape('two tools that differ in case', manifestOf({ tools: [toolOf(), toolOf({ name: 'Forecast' })] }), '/tools/1/name', /case only/),
  shape('an input schema that is no object', withTool({ inputSchema: { type: 'array' } }), '/tools/0/inputSchema/type', /expected "object"/),
  shape('an open config schema', manifestOf({ configSchema: { type: 'object' } }), '/configSchema/additionalProperties', /false/),
  shape('a state slot without a version', manifestOf({ stateSlot: { schema: {} } as never }), '/stateSlot/slotVersion', /expected string/),
  shape('a main outside', manifestOf({ main: './../../etc/passwd.js' }), '/main', /inside the package/),
  shape('a main that is absolute', manifestOf({ main: '/etc/index.js' }), '/main', /inside the package/),
  shape('a main that is not there', manifestOf({ main: './dist/index.js' }), '/main', /not in the package/),
  shape('a host with a scheme', withTool({ requires: { net: { hosts: ['https://example.com'] } } }), '/tools/0/requires/net/hosts/0', /a host/),
  shape('a command with a path', withTool({ requires: { shell: [{ cmd: '/bin/sh' }] } }), '/tools/0/requires/shell/0/cmd', /bare name/),
  shape('an argument that is a number', withTool({ requires: { shell: [{ cmd: 'git', args: [5] }] } }), '/tools/0/requires/shell/0/args/0', /none of the allowed/),
  shape('an unknown variable', withTool({ requires: { fs: { read: ['ok/**', '{home}/.ssh'] } } }), '/tools/0/requires/fs/read/1', /unknown variable/, 'RequirementInvalid'),
  shape('a pattern that climbs', withTool({ requires: { fs: { write: ['{workspace}/../x'] } } }), '/tools/0/requires/fs/write/0', /must stay below/, 'RequirementInvalid'),
  shape('an unknown capability', withTool({ requires: { capabilities: ['root'] } }), '/tools/0/requires/capabilities/0', /expected one of/),
  shape('a key template without names', withTool({ approvalKey: 'always' }), '/tools/0/approvalKey', /names no argument/, 'ApprovalKeyInvalid'),
  shape('a key template that cannot be told apart', withTool({ approvalKey: '{a}{b}' }), '/tools/0/approvalKey', /nothing between/, 'ApprovalKeyInvalid'),
  shape('a variable name that is none', manifestOf({ env: ['PATH=1'] }), '/env/0', /environment variable/),
  { name: 'a later contract', manifest: manifestOf({ contractVersion: '1.1.0' }), stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion', message: /this host speaks 1\.0\.0/ },
  { name: 'another contract', manifest: manifestOf({ contractVersion: '2.0.0' }), stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion', message: /2\.0\.0/ },
  { name: 'a later host', manifest: manifestOf({ requiredCoreVersion: '>=2' }), stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion', message: /this host is 1\.2\.3/ },
  { name: 'a range that is none', manifest: manifestOf({ requiredCoreVersion: 'newest' }), stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion', message: /not a range/ },
  schema('a type that is none', withInput({ properties: { a: { type: 'text' } } }), '/tools/0/inputSchema/properties/a/type', /allowed values/),
  schema('an unknown keyword', withInput({ properties: { a: { type: 'string', maxlength: 5 } } }), '/tools/0/inputSchema/properties/a/maxlength', /may not stand here/),
  schema('a remote reference', withInput({ properties: { a: { $ref: 'https://example.com/s.json' } } }), '/tools/0/inputSchema/properties/a/$ref', /only references inside/),
  schema('a reference into a file', withInput({ properties: { a: { $ref: 'file:///etc/passwd' } } }), '/tools/0/inputSchema/properties/a/$ref', /only references inside/),
  schema('a reference to nothing', withInput({ properties: { a: { $ref: '#/$defs/a' } } }), '/tools/0/inputSchema/properties/a/$ref', /there is no schema/),
  schema('a reference into data', withInput({ default: { x: { $async: true } }, properties: { a: { $ref: '#/default/x' } } }), '/tools/0/inputSchema/properties/a/$ref', /there is no schema/),
  schema('an inner id', withInput({ properties: { a: { $id: 'urn:x', type: 'string' } } }), '/tools/0/inputSchema/properties/a/$id', /may not stand here/),
  schema('an asynchronous schema', withInput({ $async: true }), '/tools/0/inputSchema/$async', /may not stand here/),
  schema('another dialect', withInput({ $schema: 'http://json-schema.org/draft-07/schema#' }), '/tools/0/inputSchema/$schema', /2020-12/),
  schema('a pattern that is none', withInput({ properties: { a: { type: 'string', pattern: '(' } } }), '/tools/0/inputSchema/properties/a/pattern', /Unterminated group/),
  schema('a pattern that looks ahead', withInput({ properties: { a: { type: 'string', pattern: '^(?!x)' } } }), '/tools/0/inputSchema/properties/a/pattern', /linear time/),
  schema('a pattern without end', withInput({ patternProperties: { ['a'.repeat(1_025)]: true } }), `/tools/0/inputSchema/patternProperties/${'a'.repeat(1_025)}`, /1024 characters/),
  schema('an unknown format', withInput({ properties: { a: { type: 'string', format: 'colour' } } }), '/tools/0/inputSchema/properties/a/format', /unknown format/),
  schema('a schema that is too deep', withInput({ properties: { a: nested(26) } }), `/tools/0/inputSchema/properties/a${'/properties/a'.repeat(23)}`, /nested more than 24/),
  schema('a schema that is too wide', withInput({ properties: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`p${index}`, {}])) }), '/tools/0/inputSchema', /more than 1000 subschemas/),
  schema('a schema that is too long', withInput({ description: 'x'.repeat(70_000) }), '/tools/0/inputSchema', /characters/),
  schema('references that double', withInput({ $defs: doubling, properties: { a: { $ref: '#/$defs/d0' } } }), '/tools/0/inputSchema', /more than 2000 subschemas to one value/),
  schema('a reference to itself in place', withInput({ allOf: [{ $ref: '#' }] }), '/tools/0/inputSchema', /without end/),
  schema('a strict fault only the compiler sees', withInput({ if: { required: ['a'] } }), '/tools/0/inputSchema', /"if" without "then"/),
  schema('an output schema', withTool({ outputSchema: { type: 'strin' } }), '/tools/0/outputSchema/type', /allowed values/),
  schema('a state schema', manifestOf({ stateSlot: { slotVersion: '1', schema: { required: 'a' } } }), '/stateSlot/schema/required', /must be array/),
  schema('a config schema', manifestOf({ configSchema: { type: 'object', additionalProperties: false, properties: { a: { type: 'x' } } } }), '/configSchema/properties/a/type', /allowed values/),
  schema('too many schemas together', manifestOf({
    tools: Array.from({ length: 5 }, (_, tool) => toolOf({
      name: `t${tool}`, inputSchema: { type: 'object', properties: Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`p${index}`, {}])) },
    })),
  }), '/tools/4/inputSchema', /4000 subschemas together/),
]

const folders: readonly MalformedFolder[] = [
  { name: 'no manifest', stage: 'shape', code: 'ShapeInvalid', path: '', file: '', message: /no bulkhead\.json/, spoil: (at) => rmSync(join(at, 'bulkhead.json')) },
  {
    name: 'a manifest that is a link', stage: 'read', code: 'PackageUnsafe', path: '', message: /is a link/,
    spoil: (at, home) => {
      const target = home.write(join(home.base, 'elsewhere.json'), manifestOf())
      rmSync(join(at, 'bulkhead.json'))
      symlinkSync(target, join(at, 'bulkhead.json'))
    },
  },
  { name: 'a manifest that is a folder', stage: 'shape', code: 'ShapeInvalid', path: '', file: '', message: /no bulkhead\.json/, spoil: (at) => {
    rmSync(join(at, 'bulkhead.json'))
    mkdirSync(join(at, 'bulkhead.json'))
  } },
  { name: 'a manifest that is a pipe', stage: 'read', code: 'PackageUnsafe', path: '', message: /not a plain file/, spoil: (at) => {
    rmSync(join(at, 'bulkhead.json'))
    execFileSync('mkfifo', [join(at, 'bulkhead.json')])
  } },
  { name: 'a manifest that is too large', stage: 'read', code: 'PackageUnsafe', path: '', message: /262144 are allowed/, spoil: (at, home) =>
    home.write(join(at, 'bulkhead.json'), good + ' '.repeat(262_144)) },
  { name: 'a link to a file', stage: 'read', code: 'PackageUnsafe', path: '', file: 'lib/passwd', message: /is a link/, spoil: (at) => {
    mkdirSync(join(at, 'lib'))
    symlinkSync('/etc/passwd', join(at, 'lib', 'passwd'))
  } },
  { name: 'a link to a folder', stage: 'read', code: 'PackageUnsafe', path: '', file: 'up', message: /is a link/, spoil: (at) => symlinkSync('..', join(at, 'up')) },
  { name: 'a link to nothing', stage: 'read', code: 'PackageUnsafe', path: '', file: 'gone', message: /is a link/, spoil: (at) => symlinkSync('nowhere', join(at, 'gone')) },
  { name: 'a pipe', stage: 'read', code: 'PackageUnsafe', path: '', file: 'pipe', message: /not a plain file/, spoil: (at) => execFileSync('mkfifo', [join(at, 'pipe')]) },
  { name: 'a name with a line feed', stage: 'read', code: 'PackageUnsafe', path: '', file: 'a\nb.js', message: /a\\u\{a\}b\.js/, spoil: (at, home) => home.write(join(at, 'a\nb.js'), '') },
  { name: 'a name that turns the text around', stage: 'read', code: 'PackageUnsafe', path: '', file: 'a\u{202e}sj.js', message: /invisible/, spoil: (at, home) => home.write(join(at, 'a\u{202e}sj.js'), '') },
  { name: 'a name with a back-slash', stage: 'read', code: 'PackageUnsafe', path: '', file: 'a\\b.js', message: /back-slash/, spoil: (at, home) => home.write(join(at, 'a\\b.js'), '') },
  { name: 'folders without end', stage: 'read', code: 'PackageUnsafe', path: '', file: Array(33).fill('d').join('/'), message: /32 folders deep/, spoil: (at) =>
    mkdirSync(join(at, ...Array<string>(40).fill('d')), { recursive: true }) },
]

async function diagnosticsOf(home: HomeFixture) {
  const report = await home.load()
  expect(report.extensions).toEqual([])
  return report.diagnostics
}

describe('a manifest that is refused', () => {
  test.each(manifests)('$name', async ({ manifest, stage, code, path, message }) => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather', manifest)
    const diagnostics = await diagnosticsOf(home)
    expect(diagnostics[0]).toMatchObject({ severity: 'error', stage, code, path, layer: 'global' })
    expect(diagnostics[0]!.message).toMatch(message)
    expect(diagnostics[0]!.location).toBe(join(location, 'bulkhead.json'))
    expect(diagnostics[0]!.cure).not.toBe('')
    expect(new Set(diagnostics.map((diagnostic) => diagnostic.stage))).toEqual(new Set([stage]))
  })
})

describe('a folder that is refused', () => {
  test.each(folders)('$name', async ({ spoil, stage, code, path, message, file = 'bulkhead.json' }) => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather')
    spoil(location, home)
    const diagnostics = await diagnosticsOf(home)
    expect(diagnostics).toHaveLength(1)
    expect(diagnostics[0]).toMatchObject({ severity: 'error', stage, code, path, extensionId: 'weather', location: join(location, file) })
    expect(diagnostics[0]!.message).toMatch(message)
  })

  test('two names that are one where case is ignored', async () => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather', manifestOf(), { 'index.js': '', 'Lib/a.js': '1', 'lib/b.js': '2' })
    const { extensions, diagnostics } = await home.load()
    // A file system that folds names has merged the two folders before anybody could look.
    const folded = readdirSync(location).length === 3
    expect(extensions).toHaveLength(folded ? 1 : 0)
    expect(diagnostics.map(({ code, location: at }) => [code, at])).toEqual(folded ? [] : [['PackageUnsafe', join(location, 'lib')]])
  })

  test.each([
    ['files', { files: 4 }, /more than 4 files and folders/, ''],
    ['bytes of a file', { fileBytes: 99 }, /100 bytes; 99 are allowed/, 'c.js'],
    ['bytes together', { packageBytes: 300 }, /more than 300 bytes/, ''],
  ] as const)('more %s than may be', async (_, limits, message, file) => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather', manifestOf(), { 'index.js': '', 'a/b.js': '', 'c.js': 'x'.repeat(100) })
    expect((await home.load()).extensions).toHaveLength(1)
    const { extensions, diagnostics } = await home.load({ limits })
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([{ stage: 'read', code: 'PackageUnsafe', location: join(location, file) }])
    expect(diagnostics[0]!.message).toMatch(message)
  })
})

test('the tables are as long as they should be', () => {
  expect(manifests.length + folders.length).toBeGreaterThanOrEqual(60)
  expect(new Set([...manifests, ...folders].map(({ name }) => name)).size).toBe(manifests.length + folders.length)
})
