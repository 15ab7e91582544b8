import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'
import { IN_THREADS } from './extension-folder.ts'
import { joined } from './joined.ts'

// A tool in TypeScript, in the folder of its developer: index.ts imports src/size.ts, which imports a library.

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-typescript-')))
afterAll(() => rmSync(folder, { recursive: true }))

const INDEX = `import { defineExtension, defineTool } from '@bulkhead/contract/author'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { sizeOf } from './src/size.ts'

interface Counted { readonly name: string }

export const count = defineTool({
  description: 'Counts the characters of a file.',
  input: { type: 'object', required: ['path'], properties: { path: { type: 'string' } }, additionalProperties: false },
  requires: { fs: { read: ['{workspace}/**'] } },
  approvalKey: '{path}',
  mode: 'read',
  async execute({ path }): Promise<Counted & Record<string, unknown>> {
    const text = await readFile(path, 'utf8')
    return { name: basename(path), characters: text.length, size: await sizeOf(path) }
  },
})

export default defineExtension({ tools: { count } })
`
const SIZE = `import { bytesIn } from 'lib'

export const sizeOf = (path: string): Promise<number> => bytesIn(path)
`
const LIB = `import fs from 'node:fs'
import process from 'node:process'

export const bytesIn = async (path) => (await fs.promises.stat(path)).size
export { process }
`

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

beforeEach(() => {
  rmSync(join(folder, 'tool/bulkhead.json'), { force: true })
  write({
    'home/.bulkhead/config.json': JSON.stringify(IN_THREADS),
    'tool/package.json': JSON.stringify({ name: 'count', version: '1.0.0', type: 'module' }),
    'tool/index.ts': INDEX, 'tool/src/size.ts': SIZE, 'tool/node_modules/lib/index.js': 'export * from "./bytes.js"',
    'tool/node_modules/lib/package.json': JSON.stringify({
      name: 'lib', version: '1.0.0', type: 'module', main: 'index.js',
    }),
    'tool/node_modules/lib/bytes.js': LIB, 'a.md': 'text',
  })
})

const call = (...more: string[]) =>
  inside(['call', './tool', 'count', '--args', '{"path":"a.md"}', '--mode', 'yolo', '--no-store', ...more], folder)

it('imports what it declares, itself and in a library', LONG, async () => {
  const { code, stdout, stderr } = await call()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ name: 'a.md', characters: 4, size: 4 })
  expect(await inside(['pack', './tool', '--json'], folder)).toMatchObject({
    code: 0, stdout: expect.stringContaining('"count"'),
  })
})

it('says how to answer the questions about a tool of a folder, without a terminal', async () => {
  const { code, stderr } = await inside(
    ['call', './tool', 'count', '--args', '{"path":"a.md"}', '--mode', 'ask', '--no-store'], folder,
  )
  expect([code, stderr]).toEqual([1, expect.stringMatching(joined(
    /^ApprovalDenied .*\nTo change this\n(?: {2}- .*\n)+There is no terminal to ask for approval\. /,
    /--mode yolo skips the questions of the mode, and no others\.\n$/,
  ))])
})

it('names the shim that a library uses at its top level, and who imports the library', LONG, async () => {
  write({ 'tool/node_modules/lib/bytes.js': `${LIB}export const config = await fs.promises.readFile('config.json')\n` })
  for (const command of ['pack', 'conformance', 'dev']) {
    const { code, stderr } = await inside([command, './tool'], folder)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(
      joined(
        /^CompartmentStartFailed index\.ts could not be imported: `readFile of node:fs` works only during a /,
        /call.* \(node_modules\/lib\/bytes\.js, line 6: index\.ts → src\/size\.ts → lib\)\.$/m,
      ),
    ) })
  }
})

it.each<[fault: string, files: Readonly<Record<string, string>>, message: RegExp]>([
  [
    'a syntax error', { 'tool/src/size.ts': `${SIZE}let wrong: = 1\n` },
    /^CompartmentStartFailed src\/size\.ts, line 4, cannot be parsed\./,
  ],
  [
    'a missing file', { 'tool/src/size.ts': `${SIZE}import './gone.ts'\n` },
    joined(
      /^ModuleNotFound src\/size\.ts, line 4, cannot be bundled\. Correct it and try again\.\n/,
      /.*Could not resolve '\.\/gone\.ts'(?![\s\S]*cure:)/,
    ),
  ],
  [
    'a missing package', { 'tool/src/size.ts': `\nimport 'gone'\n${SIZE}` },
    /^ModuleNotFound src\/size\.ts, line 2, imports "gone", which is neither/,
  ],
  [
    'a missing export',
    {
      'tool/src/size.ts': `${SIZE}export { gone } from 'node:fs'\nexport * from './size.ts'\n`,
      'tool/index.ts': INDEX.replace('{ sizeOf }', '{ sizeOf, gone }').replace('size:', 'gone, size:'),
    },
    joined(
      /^CompartmentStartFailed index\.ts could not be imported: .*'node:fs' does not provide an export named /,
      /'gone' \(imported in .*, line \d+: index\.ts → .*node:fs\)/,
    ),
  ],
  [
    'a module without a shim', { 'tool/node_modules/lib/index.js': `import 'node:vm'\nexport * from './bytes.js'` },
    joined(
      /^BuiltinDenied .*\(imported in node_modules\/lib\/index\.js, line 1: index\.ts → src\/size\.ts → lib → /,
      /node:vm\)\.$/m,
    ),
  ],
  [
    'a member without a shim, in a call',
    { 'tool/node_modules/lib/bytes.js': LIB.replace('.promises.stat', '.createReadStream') },
    joined(
      /^BuiltinDenied `createReadStream` of node:fs .*\(node_modules\/lib\/bytes\.js, line 4: index\.ts → .* → /,
      /node:fs\)\. /m,
    ),
  ],
  [
    'a module without a shim, in CommonJS',
    {
      'tool/node_modules/lib/index.js': `export * from './bytes.js'\nimport './old.cjs'`,
      'tool/node_modules/lib/old.cjs': `\nconst vm = require('vm')\nmodule.exports = vm.Script`,
    },
    joined(
      /^BuiltinDenied .*\(imported in node_modules\/lib\/old\.cjs, line 2: index\.ts → src\/size\.ts → lib → /,
      /node:vm\)\.$/m,
    ),
  ],
  [
    'a wrong manifest beside the code',
    {
      'tool/bulkhead.json': [
        '{',
        '  "kind": "Tool", "contractVersion": "1.0.0", "requiredCoreVersion": "^1.0.0",',
        '  "id": "count", "version": "1.0.0", "main": "./index.ts", "tools": [',
        '    { "name": "count", "description": "Counts.", "inputSchema": { "type": "object" },',
        '      "mode": "reed" }] }\n',
      ].join('\n'),
    },
    /^ShapeInvalid bulkhead\.json, line 5: \/tools\/0\/mode is wrong: /,
  ],
  [
    'an exception at the top level',
    {
      'tool/src/size.ts': `${SIZE}const check = (text: string): void => {\n`
        + `  if (text) throw new Error('boom')\n}\ncheck(String(sizeOf))\n`,
    },
    joined(
      /^CompartmentStartFailed index\.ts could not be imported: boom \(src\/size\.ts, line 5: index\.ts → /,
      /src\/size\.ts\)$/m,
    ),
  ],
  [
    'a wrong key of a tool', { 'tool/index.ts': INDEX.replace("mode: 'read'", "mode: 'reed' as never") },
    /^ShapeInvalid index\.ts, line 13: \/tools\/0\/mode is wrong: /,
  ],
  [
    'a missing key of a tool', { 'tool/index.ts': INDEX.replace(/ {2}description.*/, '') },
    /^ShapeInvalid index\.ts, line 8: \/tools\/0\/description is missing: /,
  ],
  [
    'a wrong schema',
    { 'tool/index.ts': INDEX.replace("path: { type: 'string' }", "\n    path: { type: 'text' as never }") },
    /^\w+ index\.ts, line 11: .*\/tools\/0\/inputSchema is wrong at \/properties\/path\/type: /,
  ],
  [
    'a wrong version', { 'tool/package.json': '{\n  "name": "count",\n  "version": "one"\n}\n' },
    /^ShapeInvalid package\.json, line 3: \/version must be a version/,
  ],
  [
    'no extension', { 'tool/index.ts': INDEX.replace('export default', 'export const extension =') },
    /^ShapeInvalid index\.ts exports no extension\./,
  ],
  [
    'a schema that is not JSON',
    { 'tool/index.ts': INDEX.replace('mode:', 'output: { "~standard": {} } as never,\n  mode:') },
    /^ToolExecutionFailed index\.ts: The output of count cannot be written as JSON Schema\./,
  ],
])('names the written file and line: %s', LONG, async (_, files, message) => {
  write(files)
  const { code, stderr } = await call()
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) })
  expect(stderr).not.toMatch(/(?<!lib\/)index\.js|tool:\/\/|bulkhead\.describe|\/tmp/)
})

const FAILING = {
  'tool/index.ts': INDEX.replace(
    'const text', "if (path === 'b.md') throw new TypeError('wrong path')\n    const text",
  ),
  'tool/src/size.ts': `${SIZE.replace('=> bytesIn(path)', '=> check(path).then(bytesIn)')}
async function check(path: string): Promise<string> {
  await Promise.resolve()
  try {
    return JSON.parse(path) as string
  } catch (error) {
    throw new Error(\`no size of \${path}\`, { cause: error })
  }
}
`,
}

it('shows the stack of an exception with written files and lines, and its causes, after one attempt', async () => {
  write(FAILING)
  const { code, stdout, stderr } = await call()
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(
    joined(
      /^ToolExecutionFailed no size of a\.md\n {4}at check \(tool\/src\/size\.ts:10:11\)\n/,
      / {4}at async Object\.execute \(tool\/index\.ts:17:\d+\)\n {2}caused by .*JSON.*\n/,
      / {4}at check \(tool\/src\/size\.ts:8:17\)\n/,
    ),
  )
  const { stdout: json } = await call('--json')
  const { stack, ...outcome } = JSON.parse(json) as Record<string, unknown>
  expect(stack).toMatchObject([
    {
      message: 'no size of a.md',
      frames: [
        { name: 'check', file: 'tool/src/size.ts', line: 10 }, { file: 'tool/index.ts', line: 17 },
      ],
    },
    { frames: [{ file: 'tool/src/size.ts', line: 8 }, { file: 'tool/index.ts' }] },
  ])
  expect(outcome).toMatchObject({ type: 'error', error_text: 'no size of a.md', metadata: { attempt: 1 } })
  expect(JSON.stringify(outcome)).not.toMatch(/\.ts\b|index\.js/)
})

it('shows the place of an error that ends the compartment, and of one at a real load', LONG, async () => {
  write({
    'tool/index.ts': INDEX.replace(
      'const text',
      "setTimeout(() => { throw new Error('later') })\n    await new Promise(() => undefined)\n    const text",
    ),
  })
  expect((await call()).stderr).toMatch(
    /^CompartmentCrashed .*uncaught error: later\..*\n {4}at .*\(tool\/index\.ts:15:\d+\)$/m,
  )
  const tools = [{ name: 'count', description: 'Counts.', inputSchema: { type: 'object' }, mode: 'read' }]
  const manifest = {
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: 'count', version: '1.0.0',
    main: './index.ts', tools,
  }
  const code = `const fail = (text: string): never => {
  throw new Error(text)
}
export default { tools: { count: { execute: () => fail } } }
if (globalThis.setTimeout) fail('boom')
`
  write({ 'tool/bulkhead.json': JSON.stringify(manifest), 'tool/index.ts': code })
  const { stderr } = await call()
  expect(stderr).toMatch(joined(
    /^CompartmentStartFailed index\.ts could not be imported: boom \(index\.ts, line 2\).*\n/,
    / {4}at fail \(tool\/index\.ts:2:9\)\n {4}at tool\/index\.ts:5:\d+$/m,
  ))
})

it('shows the file names of an installed package, only for its own faults, and not to programs', LONG, async () => {
  write({ ...FAILING, 'home/.bulkhead/config.json': JSON.stringify({ ...IN_THREADS, retries: { attempts: 1 } }) })
  expect(await inside(['install', './tool', '--yes'], folder)).toMatchObject({ code: 0 })
  const installed = (...more: string[]) => inside(['call', 'count', '--mode', 'yolo', '--no-store', ...more], folder)
  const { stderr } = await installed('--args', '{"path":"b.md"}')
  expect(stderr).toMatch(/^ToolExecutionFailed wrong path\n {4}at Object\.execute \(count\/index\.js:\d+:\d+\)\n$/)
  expect((await installed('--args', '{"path":"b.md"}', '--json')).stdout).not.toContain('stack')
  expect((await installed('--args', '{"path":"/etc/passwd"}')).stderr).toMatch(/^CapabilityDenied .*\n$/)
})
