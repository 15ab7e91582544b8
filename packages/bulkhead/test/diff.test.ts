import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-diff-'))
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  change({ version: '1.4.0' })
  await inside(['pack', 'word-count'], folder)
  await inside(['install', 'word-count-1.4.0.tgz', '--yes'], folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Written {
  version: string
  requiredCoreVersion: string
  tools: { description: string; requires: object; inputSchema: { properties: object; required: string[] } }[]
}

/** Changes the manifest, or with `tool` its tool. */
function change(manifest: Partial<Written>, tool: Partial<Written['tools'][0]> = {}): void {
  const at = join(folder, 'word-count/bulkhead.json')
  const before = JSON.parse(readFileSync(at, 'utf8')) as Written
  writeFileSync(at, JSON.stringify({ ...before, ...manifest, tools: [{ ...before.tools[0], ...tool }] }))
}
const diff = (a: string, ...rest: string[]) => inside(['diff', a, './word-count', ...rest], folder)

it('compares a tarball, a folder and an installed extension, and fails if the version is too low', LONG, async () => {
  expect(await diff('word-count')).toEqual({
    code: 0, stderr: '', stdout: 'word-count 1.4.0 to 1.4.0\n\nNothing changed: needs no new version, has 1.4.0\n',
  })
  const path = { type: 'string', minLength: 1, maxLength: 9, description: 'Path of the file in the workspace.' }
  const inputSchema = { type: 'object', properties: { path }, required: ['path'], additionalProperties: false }
  change({ version: '1.4.1' }, { description: 'Counts.', inputSchema })
  const text = 'was 500, is 9; it may reject arguments that were valid'
  const report = await diff('word-count-1.4.0.tgz', '--json')
  expect([report.code, JSON.parse(report.stdout)]).toEqual([1, {
    from: '1.4.0', to: '1.4.1', required: 'major', actual: 'patch', ok: false, changes: [
      { level: 'major', subject: 'tool word-count', path: '/inputSchema/properties/path/maxLength', text },
      { level: 'patch', subject: 'tool word-count', path: '/description', text: 'changed' },
    ],
  }])
  expect(await diff('word-count')).toEqual({
    code: 1, stderr: '', stdout: `word-count 1.4.0 to 1.4.1

major
  tool word-count /inputSchema/properties/path/maxLength: ${text}

patch
  tool word-count /description: changed

needs 2.0.0, has 1.4.1
`,
  })
})

it('reads versions for other hosts, and reports changed code', async () => {
  change({ version: '3.0.0', requiredCoreVersion: '^9.0.0' })
  writeFileSync(join(folder, 'word-count/index.js'), 'export default {}')
  const { code, stdout } = await diff('word-count-1.4.0.tgz')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /major\n {2}extension \/requiredCoreVersion: was \^1\.0\.0, is \^9\.0\.0; some hosts can no longer run it\n/,
  )
  expect(stdout).toMatch(/patch\n[\s\S]* {2}files: changed: index\.js\n/)
})

it.each([
  [
    'a misspelt id', ['wrd-count', './word-count'], 1,
    /^ExtensionNotFound "wrd-count" is not installed\. Did you mean "word-count"\?\n/,
  ],
  ['a folder that is missing', ['word-count', './nothing'], 1, /^InstallSourceInvalid "\.\/nothing" is not a folder\./],
  ['one argument', ['word-count'], 2, /^Name two versions of an extension after "diff"\.\n/],
])('explains %s', async (_, args, code, message) => {
  expect(await inside(['diff', ...args], folder)).toMatchObject({
    code, stdout: '', stderr: expect.stringMatching(message),
  })
})

it('suggests the path of a folder that is not installed', async () => {
  expect((await inside(['diff', 'home', './word-count'], folder)).stderr).toContain(
    '"home" is not installed. To compare the folder, use ./home',
  )
})
