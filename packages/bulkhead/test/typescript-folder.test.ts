import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { useThreads } from './extension-folder.ts'

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
  useThreads(join(folder, 'home/.bulkhead'))
  write({
    'tool/package.json': JSON.stringify({ name: 'count', version: '1.0.0', type: 'module' }),
    'tool/index.ts': INDEX, 'tool/src/size.ts': SIZE, 'tool/node_modules/lib/index.js': 'export * from "./bytes.js"',
    'tool/node_modules/lib/package.json': JSON.stringify({ name: 'lib', version: '1.0.0', type: 'module', main: 'index.js' }),
    'tool/node_modules/lib/bytes.js': LIB, 'a.md': 'text',
  })
})

const call = (...more: string[]) => inside(['call', './tool', 'count', '--args', '{"path":"a.md"}', '--mode', 'yolo', '--no-store', ...more], folder)

it('imports what it declares, itself and in a library', async () => {
  const { code, stdout, stderr } = await call()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ name: 'a.md', characters: 4, size: 4 })
  expect(await inside(['pack', './tool', '--json'], folder)).toMatchObject({ code: 0, stdout: expect.stringContaining('"count"') })
})

it('names the shim that a library uses at its top level, and who imports the library', async () => {
  write({ 'tool/node_modules/lib/bytes.js': `${LIB}export const config = await fs.promises.readFile('config.json')\n` })
  for (const command of ['pack', 'conformance', 'dev']) {
    const { code, stderr } = await inside([command, './tool'], folder)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(
      /^CompartmentStartFailed index\.ts could not be imported: `readFile of node:fs` works only during a call.* \(node_modules\/lib\/bytes\.js, line 6: index\.ts → src\/size\.ts → lib\)\.$/m,
    ) })
  }
})

it.each<[fault: string, files: Readonly<Record<string, string>>, message: RegExp]>([
  ['a syntax error', { 'tool/src/size.ts': `${SIZE}let wrong: = 1\n` }, /^CompartmentStartFailed src\/size\.ts, line 4, cannot be parsed\./],
  ['a missing file', { 'tool/src/size.ts': `${SIZE}import './gone.ts'\n` }, /^ModuleNotFound src\/size\.ts, line 4, cannot be bundled: .*Could not resolve '\.\/gone\.ts'/],
  ['a missing package', { 'tool/src/size.ts': `\nimport 'gone'\n${SIZE}` }, /^ModuleNotFound src\/size\.ts, line 2, imports "gone", which is neither/],
  ['a missing export', { 'tool/src/size.ts': `${SIZE}export { gone } from 'node:fs'\nexport * from './size.ts'\n`, 'tool/index.ts': INDEX.replace('{ sizeOf }', '{ sizeOf, gone }').replace('size:', 'gone, size:') },
    /^CompartmentStartFailed index\.ts could not be imported: .*'node:fs' does not provide an export named 'gone' \(imported in .*, line \d+: /],
  ['a module without a shim', { 'tool/node_modules/lib/index.js': `import 'node:worker_threads'\nexport * from './bytes.js'` }, /^BuiltinDenied .*\(imported in node_modules\/lib\/index\.js, line 1: index\.ts → src\/size\.ts → lib → node:worker_threads\)\.$/m],
  ['an exception at the top level', { 'tool/src/size.ts': `${SIZE}const check = (text: string): void => {\n  if (text) throw new Error('boom')\n}\ncheck(String(sizeOf))\n` }, /^CompartmentStartFailed index\.ts could not be imported: boom \(src\/size\.ts, line 5: index\.ts → src\/size\.ts\)$/m],
  ['no extension', { 'tool/index.ts': INDEX.replace('export default', 'export const extension =') }, /^ShapeInvalid index\.ts exports no extension\./],
  ['a schema that is not JSON', { 'tool/index.ts': INDEX.replace('mode:', 'output: { "~standard": {} } as never,\n  mode:') }, /^ToolExecutionFailed index\.ts: The output of count cannot be written as JSON Schema\./],
])('names the written file and line: %s', async (_, files, message) => {
  write(files)
  const { code, stderr } = await call()
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) })
  expect(stderr).not.toMatch(/(?<!lib\/)index\.js|tool:\/\/|bulkhead\.describe|\/tmp/)
})
