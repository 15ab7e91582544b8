import type { ErrorCode } from '@bulkhead/contract'
import { test } from 'vitest'
import { manifestOf, toolOf } from '../home-fixture.ts'
import { expectRefusal, type MalformedManifest } from '../malformed.ts'

const withTool = (over: Record<string, unknown>) => manifestOf({ tools: [toolOf(over)] })
const utf8 = (text: string) => new TextEncoder().encode(text)
const good = JSON.stringify(manifestOf())

const shape = (
  name: string, manifest: MalformedManifest['manifest'], path: string, message: RegExp,
  code: ErrorCode = 'ShapeInvalid',
): MalformedManifest => ({ name, manifest, stage: 'shape', code, path, message })

const manifests: readonly MalformedManifest[] = [
  shape('an empty file', '', '', /is not JSON/),
  shape('a truncated file', good.slice(0, 40), '', /is not JSON/),
  shape('not an object', '[]', '', /expected object/),
  shape('not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), '', /not UTF-8/),
  shape('a byte order mark', utf8(`\u{feff}${good}`), '', /byte order mark/),
  shape('a duplicate key', good.replace('{', '{"kind":"Tool",'), '/kind', /duplicate key/, 'DuplicateJsonKey'),
  shape(
    'a duplicate key, once escaped', good.replace('{', '{"\\u006bind":"Tool",'), '/kind', /duplicate key/,
    'DuplicateJsonKey',
  ),
  shape(
    'a duplicate key in a schema', good.replace('"type":"object"', '"type":"object","type":"object"'),
    '/tools/0/inputSchema/type',
    /duplicate key/, 'DuplicateJsonKey',
  ),
  shape('a __proto__ key', good.replace('{', '{"__proto__":{},'), '/__proto__', /__proto__ is refused/),
  shape('half a surrogate pair', good.replace('What the weather', '\\ud800'), '/tools/0/description', /surrogate/),
  shape('a number that is too large', good.replace('{', '{"x":1e999,'), '/x', /not a JSON number/),
  shape(
    'values that are nested too deep', good.replace('{', `{"x":${'['.repeat(80)}${']'.repeat(80)},`),
    '/x' + '/0'.repeat(63),
    /nested more than/,
  ),
  shape('an unknown key', { ...manifestOf(), lifecycle: {} }, '/lifecycle', /not a known key/),
  shape(
    'a misspelled key', { ...manifestOf(), secretz: [] }, '/secretz',
    /^\/secretz is not a known key; perhaps it is "secrets"\.$/,
  ),
  shape(
    'a misspelled key of a tool', withTool({ aprovalKey: '' }), '/tools/0/aprovalKey', /perhaps it is "approvalKey"\.$/,
  ),
  shape('an unknown key of a tool', withTool({ execute: 'rm -rf' }), '/tools/0/execute', /not a known key/),
  shape('another kind', manifestOf({ kind: 'Provider' as never }), '/kind', /expected "Tool"/),
  shape('no id', { ...manifestOf(), id: undefined }, '/id', /^\/id is missing: expected string\.$/),
  shape('an id with a path in it', manifestOf({ id: '../up' }), '/id', /lower-case letter/),
  shape('an id in capitals', manifestOf({ id: 'Weather' }), '/id', /lower-case letter/),
  shape('an invalid version', manifestOf({ version: 'latest' }), '/version', /a version such as/),
  shape(
    'a contract version that is a range', manifestOf({ contractVersion: '^1.0.0' }), '/contractVersion',
    /a version such as/,
  ),
  shape('no tools', manifestOf({ tools: [] }), '/tools', /Too small/),
  shape('a tool name with a space', withTool({ name: 'fore cast' }), '/tools/0/name', /a letter/),
  shape('a tool name in look-alike letters', withTool({ name: 'rеad' }), '/tools/0/name', /a letter/),
  shape('two tools with the same name', manifestOf({ tools: [toolOf(), toolOf()] }), '/tools/1/name', /another tool/),
  shape(
    'two tools that differ in case', manifestOf({ tools: [toolOf(), toolOf({ name: 'Forecast' })] }), '/tools/1/name',
    /only in case/,
  ),
  shape(
    'an input schema that is not an object', withTool({ inputSchema: { type: 'array' } }), '/tools/0/inputSchema/type',
    /expected "object"/,
  ),
  shape(
    'an open config schema', manifestOf({ configSchema: { type: 'object' } }), '/configSchema/additionalProperties',
    /false/,
  ),
  shape(
    'a state slot without a version', manifestOf({ stateSlot: { schema: {} } as never }), '/stateSlot/slotVersion',
    /expected string/,
  ),
  shape('a main outside of the package', manifestOf({ main: './../../etc/passwd.js' }), '/main', /inside the package/),
  shape('an absolute main', manifestOf({ main: '/etc/index.js' }), '/main', /inside the package/),
  shape('a missing main', manifestOf({ main: './dist/index.js' }), '/main', /not in the package/),
  shape(
    'a host with a scheme', withTool({ requires: { net: { hosts: ['https://example.com'] } } }),
    '/tools/0/requires/net/hosts/0',
    /a host/,
  ),
  shape(
    'a command with a path', withTool({ requires: { shell: [{ cmd: '/bin/sh' }] } }), '/tools/0/requires/shell/0/cmd',
    /bare name/,
  ),
  shape(
    'an argument that is a number', withTool({ requires: { shell: [{ cmd: 'git', args: [5] }] } }),
    '/tools/0/requires/shell/0/args/0', /none of the allowed/,
  ),
  shape(
    'an unknown variable', withTool({ requires: { fs: { read: ['ok/**', '{home}/.ssh'] } } }),
    '/tools/0/requires/fs/read/1',
    /unknown variable/, 'RequirementInvalid',
  ),
  shape(
    'a pattern with ..', withTool({ requires: { fs: { write: ['{workspace}/../x'] } } }),
    '/tools/0/requires/fs/write/0',
    /must stay below/, 'RequirementInvalid',
  ),
  shape(
    'an unknown capability', withTool({ requires: { capabilities: ['root'] } }), '/tools/0/requires/capabilities/0',
    /expected one of/,
  ),
  shape(
    'an approval key without arguments', withTool({ approvalKey: 'always' }), '/tools/0/approvalKey',
    /names no argument/,
    'ApprovalKeyInvalid',
  ),
  shape(
    'an approval key with an unknown argument',
    withTool({
      approvalKey: '{town}',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false },
    }),
    '/tools/0/approvalKey', /"town", which inputSchema does not have/, 'ApprovalKeyInvalid',
  ),
  shape(
    'an ambiguous approval key', withTool({ approvalKey: '{a}{b}' }), '/tools/0/approvalKey', /nothing between/,
    'ApprovalKeyInvalid',
  ),
  shape('an invalid variable name', manifestOf({ env: ['PATH=1'] }), '/env/0', /environment variable/),
  {
    name: 'a later contract', manifest: manifestOf({ contractVersion: '1.1.0' }), stage: 'contractVersion',
    code: 'ContractVersionMismatch', path: '/contractVersion', message: /this host supports 1\.0\.0/,
  },
  {
    name: 'another contract', manifest: manifestOf({ contractVersion: '2.0.0' }), stage: 'contractVersion',
    code: 'ContractVersionMismatch', path: '/contractVersion', message: /2\.0\.0/,
  },
  {
    name: 'a later host', manifest: manifestOf({ requiredCoreVersion: '>=2' }), stage: 'requiredCoreVersion',
    code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion', message: /this host is 1\.2\.3/,
  },
  {
    name: 'an invalid range', manifest: manifestOf({ requiredCoreVersion: 'newest' }), stage: 'requiredCoreVersion',
    code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion', message: /not a version range/,
  },
]

test.each(manifests)('refuses $name', expectRefusal)
