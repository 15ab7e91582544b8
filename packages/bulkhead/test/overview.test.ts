import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inspect } from '../src/cli/inspect.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-overview-'))) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const global = () => join(folder, 'home/.bulkhead')
const facts = async (...args: readonly string[]): Promise<Record<string, unknown>> =>
  JSON.parse((await inside(['--json', ...args], folder)).stdout) as Record<string, unknown>
const commands = ({ next }: Record<string, unknown>): readonly string[] =>
  (next as readonly { readonly command: string }[]).map(({ command }) => command)

it('describes an empty folder, and says where to start', async () => {
  const { code, stdout, stderr } = await inside([], folder)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(new RegExp([
    '^bulkhead \\S+', `  folder +${folder}`, '  project +has no tools or settings of its own',
    '  tools +\\d+ bundled', '  extensions +none', '  servers +none', '', 'Next\n',
  ].join('\n')))
  expect(stdout).toMatch(/^ {2}bulkhead tools +\S.*\n {2}bulkhead new my-tool +\S/m)
  expect((await inside(['--quiet'], folder)).stdout).not.toContain('Next')
})

it('lists a project that is not trusted, an extension and servers', async () => {
  writeExtension(global(), { id: 'greeter', version: '2.1.0', tools: [{ name: 'greet' }] }, 'export default {}')
  const mcp = { gone: { type: 'local', command: ['/does/not/exist'] } }
  writeFileSync(join(global(), 'config.json'), JSON.stringify({ mcp, openapi: { shop: { document: 'none.json' } } }))
  writeExtension(join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] }, 'export default {}')
  const found = await facts()
  expect(found).toMatchObject({
    workspace: folder, project: 'unknown', tools: { global: 1, project: 0 },
    extensions: [{ id: 'greeter', version: '2.1.0', layer: 'global' }],
    servers: [
      { name: 'gone', kind: 'mcp', state: 'unknown', tools: null },
      { name: 'shop', kind: 'openapi', state: 'known', tools: 0 },
    ],
  })
  expect(commands(found)[0]).toBe('bulkhead trust')
  expect(commands(found)).toContain('bulkhead tools --connect')
})

it('starts no extension, not even an eager one', async () => {
  writeExtension(global(), { id: 'greeter', tools: [{ name: 'greet' }] }, 'export default {}')
  writeFileSync(join(global(), 'config.json'), JSON.stringify({ extensions: { greeter: { activation: 'eager' } } }))
  const { host } = await inspect({ workspace: folder, home: global() })
  await new Promise(setImmediate)
  expect(new Set(host.extensions().map(({ state }) => state))).toEqual(new Set(['validated']))
  await host.close()
})

it('does not use up trust that applies to the next start', async () => {
  writeExtension(join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] }, 'export default {}')
  await inside(['trust', '--once', '--yes'], folder)
  expect([await facts(), await facts()]).toMatchObject([
    { project: 'once', tools: { project: 1 } }, { project: 'once', tools: { project: 1 } },
  ])
})

it('says how to check and pack the folder of an extension', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  expect(commands(await facts('--workspace', 'word-count')).slice(0, 2)).toEqual([
    'bulkhead conformance .', 'bulkhead pack .',
  ])
})

it('a broken folder is described, not a stack trace', async () => {
  mkdirSync(global(), { recursive: true })
  writeFileSync(join(global(), 'config.json'), '{ "mode": ')
  writeFileSync(join(folder, '.bulkhead'), 'not a folder')
  const { code, stdout, stderr } = await inside([], folder)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/problems +[1-9] errors?/)
  expect(await inside(['--workspace', 'nowhere'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ProjectPathInvalid .*\n {2}cure: .*\n$/),
  })
})
