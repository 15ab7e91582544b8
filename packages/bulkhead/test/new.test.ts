import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { TEMPLATES } from '../src/cli/templates.ts'
import { inside } from './command-inside.ts'
import { SharedTerminal } from './terminal/pseudo-terminal.ts'

const ROOT = join(import.meta.dirname, '../../..')
let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-new-')) })
afterAll(() => rmSync(folder, { recursive: true }))

const COMMON = ['.github/workflows/ci.yml', '.gitignore', 'README.md', 'package.json']
const filesOf = (name: string) =>
  globSync(['**/*', '.*', '.github/**/*'], { cwd: join(folder, name), withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, name).length + 1)).toSorted()

it.each([
  ['tool-ts', ['index.ts', 'test/conformance.test.ts', 'test/index.test.ts', 'tsconfig.json']],
  ['tool', ['bulkhead.json', 'index.js', 'test/conformance.test.js', 'test/index.test.js']],
  ['mcp-server', ['index.ts', 'server.ts', 'test/conformance.test.ts', 'test/index.test.ts', 'tsconfig.json']],
  ['openapi', ['index.ts', 'openapi.json', 'test/conformance.test.ts', 'test/index.test.ts', 'tsconfig.json']],
])('writes %s without a question', async (template, own) => {
  const { code, stdout } = await inside(['new', template, '--template', template, '--name', 'my-tool', '--yes', '--json'], folder)
  expect({ code, ...JSON.parse(stdout) as object }).toMatchObject({ code: 0, id: 'my-tool', folder: join(folder, template) })
  expect(filesOf(template)).toEqual([...COMMON, ...own].toSorted())
  expect(JSON.parse(readFileSync(join(folder, template, 'package.json'), 'utf8'))).toMatchObject({ name: 'my-tool', version: '0.1.0' })
})

it('writes TypeScript by default, and rejects contradictions', async () => {
  expect(await inside(['new', 'plain'], folder)).toMatchObject({ code: 0 })
  expect(await inside(['new', 'plain-ts', '--ts'], folder)).toMatchObject({ code: 0 })
  expect(filesOf('plain')).toEqual(filesOf('plain-ts'))
  expect(filesOf('plain')).toContain('index.ts')
  expect(await inside(['new', 'x', '--ts', '--template', 'tool'], folder)).toMatchObject({ code: 2, stderr: expect.stringContaining('--ts cannot be used with --template tool') })
  expect(await inside(['new'], folder)).toMatchObject({ code: 2, stderr: expect.stringContaining('Name one folder after "new"') })
  expect(await inside(['new', 'x', '--name', 'My Tool'], folder)).toMatchObject({ code: 2, stderr: expect.stringContaining('not a valid extension id') })
})

it('`npm create bulkhead` is the same command', () => {
  const bin = join(ROOT, 'packages/create-bulkhead/src/bin.ts')
  const { status, stdout } = spawnSync(process.execPath, [bin, 'created', '--template', 'tool', '--json'], { cwd: folder, encoding: 'utf8' })
  expect({ status, ...JSON.parse(stdout) as object }).toMatchObject({ status: 0, id: 'created' })
  expect(filesOf('created')).toEqual(filesOf('tool'))
})

it('names versions that this workspace is tested with', () => {
  const catalog = readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8')
  const versions = Object.keys(TEMPLATES).map((name) => JSON.parse(TEMPLATES[name as keyof typeof TEMPLATES].files('x')['package.json']!) as { devDependencies: Record<string, string> })
  for (const [name, range] of versions.flatMap(({ devDependencies }) => Object.entries(devDependencies))) {
    if (!name.includes('bulkhead')) expect(catalog).toMatch(new RegExp(`^ {2}'?${name}'?: ${range.slice(1).replace(/\..*/, '')}\\.`, 'm'))
  }
})

it('asks at a terminal for what is missing', ONLY_IN_SOAK, async () => {
  await using terminal = new SharedTerminal(folder)
  await terminal.run(['new'])
  await terminal.see('Your answer')
  terminal.press('asked\r')
  await terminal.see('Which one?')
  terminal.press('\r')
  expect(await terminal.ended()).toBe(0)
  expect(filesOf('asked')).toEqual(filesOf('plain'))
})

it.each(Object.keys(TEMPLATES))('%s compiles, and its tests and the conformance requirements hold', ONLY_IN_SOAK, (template) => {
  const at = join(folder, `${template}-thorough`)
  spawnSync(process.execPath, [join(ROOT, 'packages/bulkhead/src/bin.ts'), 'new', at, '--template', template])
  mkdirSync(join(at, 'node_modules/@types'), { recursive: true })
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@bulkhead', 'packages/bulkhead/node_modules/@bulkhead'], ['@types/node', 'node_modules/@types/node'],
    ['vitest', 'node_modules/vitest'],
  ] as const) symlinkSync(join(ROOT, target), join(at, 'node_modules', name))
  const run = (tool: string, ...args: string[]) => spawnSync(join(ROOT, 'node_modules/.bin', tool), args, { cwd: at, encoding: 'utf8' })
  if (template !== 'tool') expect(run('tsc')).toMatchObject({ status: 0, stdout: '' })
  const { status, stdout } = run('vitest', 'run')
  expect(status, stdout).toBe(0)
})
