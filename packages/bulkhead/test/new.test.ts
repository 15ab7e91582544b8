import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { TEMPLATES } from '../src/cli/publish/templates.ts'
import { BUNDLED } from './bundled.ts'
import { inside } from './command-inside.ts'
import { useThreads } from './extension-folder.ts'
import { startPublishedPackages } from './pages/published-packages.ts'
import { SharedTerminal } from './terminal/pseudo-terminal.ts'

const ROOT = join(import.meta.dirname, '../../..')
let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-new-')) })
afterAll(() => rmSync(folder, { recursive: true }))

const COMMON = ['.github/workflows/ci.yml', '.gitignore', 'README.md', 'package.json']
const filesOf = (name: string) =>
  globSync(['**/*', '.*', '.github/**/*'], { cwd: join(folder, name), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, name).length + 1))
    .toSorted()

it.each([
  ['tool-ts', ['index.ts', 'test/conformance.test.ts', 'test/index.test.ts', 'tsconfig.json']],
  ['tool', ['bulkhead.json', 'index.js', 'test/conformance.test.js', 'test/index.test.js']],
  ['mcp-server', ['index.ts', 'server.ts', 'test/conformance.test.ts', 'test/index.test.ts', 'tsconfig.json']],
  [
    'openapi',
    [
      'api.json', 'generate.ts', 'index.ts', 'openapi.json', 'test/conformance.test.ts', 'test/index.test.ts',
      'tsconfig.json',
    ],
  ],
])('writes %s without a question', async (template, own) => {
  const { code, stdout } = await inside(
    ['new', template, '--template', template, '--name', 'my-tool', '--yes', '--json'], folder,
  )
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({
    code: 0, id: 'my-tool', folder: join(folder, template),
  })
  expect(filesOf(template)).toEqual([...COMMON, ...own].toSorted())
  expect(JSON.parse(readFileSync(join(folder, template, 'package.json'), 'utf8'))).toMatchObject({
    name: 'my-tool', version: '0.1.0',
  })
})

it('writes TypeScript by default, and rejects contradictions', async () => {
  expect(await inside(['new', 'plain'], folder)).toMatchObject({ code: 0 })
  expect(await inside(['new', 'plain-ts', '--ts'], folder)).toMatchObject({ code: 0 })
  expect(filesOf('plain')).toEqual(filesOf('plain-ts'))
  expect(filesOf('plain')).toContain('index.ts')
  expect(await inside(['new', 'x', '--ts', '--template', 'tool'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('--ts cannot be used with --template tool'),
  })
  expect(await inside(['new'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('Name one folder after "new"'),
  })
  expect(await inside(['new', 'x', '--name', 'My Tool'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('not a valid extension id'),
  })
})

it('`npm create bulkhead` is the same command', () => {
  const bin = join(ROOT, 'packages/create-bulkhead/src/bin.ts')
  const { status, stdout } = spawnSync(process.execPath, [...BUNDLED, bin, 'created', '--template', 'tool', '--json'], {
    cwd: folder, encoding: 'utf8',
  })
  expect({ status, ...JSON.parse(stdout) as object }).toMatchObject({ status: 0, id: 'created' })
  expect(filesOf('created')).toEqual(filesOf('tool'))
})

/** A project of the template with the packages of the workspace, as `npm install` would have them. */
function link(at: string): void {
  mkdirSync(join(at, 'node_modules/@types'), { recursive: true })
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@bulkhead', 'packages/bulkhead/node_modules/@bulkhead'],
    ['@types/node', 'node_modules/@types/node'],
    ['vitest', 'node_modules/vitest'],
  ] as const)
    symlinkSync(join(ROOT, target), join(at, 'node_modules', name))
}

const stepsOf = (output: string): readonly string[] =>
  [...output.matchAll(/^ {2}(.*?)(?: +# .*)?$/gm)].map(([, step]) => step!)

it('prints steps that work as printed', LONG, async () => {
  const { stdout } = await inside(['new', "it's new/word-count", '--template', 'tool'], folder)
  const [cd, ...steps] = stepsOf(stdout)
  expect([cd, ...steps]).toEqual([
    String.raw`cd 'it'\''s new/word-count'`, 'npm install', 'npx bulkhead dev', 'npm test', 'npx bulkhead pack .',
  ])
  const at = spawnSync('/bin/sh', ['-c', `${cd} && pwd -P`], { cwd: folder, encoding: 'utf8' }).stdout.trim()
  link(at)
  useThreads(join(folder, 'home/.bulkhead'))
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', {
    value: Readable.from(['word-count {"path":"README.md"}\n.exit\n']), configurable: true,
  })
  try {
    const dev = await inside(['dev', '--mode', 'yolo'], at, { HOME: join(folder, 'home') })
    expect([dev.code, JSON.parse(dev.stdout)]).toEqual([0, { path: 'README.md', words: expect.any(Number) }])
  } finally {
    Object.defineProperty(process, 'stdin', stdin)
  }
  expect(await inside(['pack', '.'], at)).toMatchObject({ code: 0, stderr: '' })
  expect(
    stepsOf(
      (await inside(['new', '.', '--name', 'here', '--template', 'tool'], mkdtempSync(join(folder, 'here-')))).stdout,
    )[0],
  ).toBe('npm install')
})

it.each(['tool-ts', 'tool'])('%s conforms with a library that npm installed, used or not', LONG, async (template) => {
  const at = join(folder, `${template}-library`)
  await inside(['new', at, '--template', template], folder)
  mkdirSync(join(at, 'node_modules/one'), { recursive: true })
  writeFileSync(
    join(at, 'node_modules/one/package.json'),
    '{ "name": "one", "version": "1.2.3", "type": "module", "main": "./index.js" }',
  )
  writeFileSync(join(at, 'node_modules/one/index.js'), String.raw`const marks = new Set(['\u{feff}'])
export const one = marks.size` + '\n')
  const file = join(at, 'package.json')
  writeFileSync(
    file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), dependencies: { one: '^1.2.3' } }),
  )
  const main = join(at, template === 'tool' ? 'index.js' : 'index.ts')
  for (const source of [
    readFileSync(main, 'utf8'),
    `import { one } from 'one'\n${readFileSync(main, 'utf8').replace('.length }', '.length * one }')}`,
  ]) {
    writeFileSync(main, source)
    const { code, stdout } = await inside(['conformance', at, '--only', 'package'], folder)
    expect(code, stdout).toBe(0)
    // Only what is given to others is listed with its files: a library has hundreds.
    expect(stdout).not.toContain('node_modules')
    if (source.includes("'one'")) expect(stdout).toContain('Bundled from 2 files.\n')
  }
})

const versionOf = (name: string): string =>
  (
    JSON.parse(readFileSync(join(ROOT, 'packages', name.replace('@bulkhead/', ''), 'package.json'), 'utf8')) as {
      version: string
    }
  ).version

it('names versions that this workspace is tested with', () => {
  const catalog = readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8')
  const versions = Object.keys(TEMPLATES).map(
    (name) =>
      JSON.parse(TEMPLATES[name as keyof typeof TEMPLATES].files('x')['package.json']!) as {
        devDependencies: Record<string, string>
      },
  )
  for (const [name, range] of versions.flatMap(({ devDependencies }) => Object.entries(devDependencies))) {
    if (name.includes('bulkhead')) expect(range).toBe(`^${versionOf(name)}`)
    else expect(catalog).toMatch(new RegExp(`^ {2}'?${name}'?: ${range.slice(1).replace(/\..*/, '')}\\.`, 'm'))
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

// The tools of an OpenAPI document bundle a package that is a link here. The last test has it.
it.each(Object.keys(TEMPLATES).filter((name) => name !== 'openapi'))(
  '%s compiles, and its tests and the conformance requirements hold', ONLY_IN_SOAK,
  (template) => {
    const at = join(folder, `${template}-thorough`)
    spawnSync(process.execPath, [join(ROOT, 'packages/bulkhead/src/bin.ts'), 'new', at, '--template', template])
    link(at)
    const run = (tool: string, ...args: string[]) =>
      spawnSync(join(ROOT, 'node_modules/.bin', tool), args, { cwd: at, encoding: 'utf8' })
    if (template !== 'tool') expect(run('tsc')).toMatchObject({ status: 0, stdout: '' })
    const { status, stdout } = run('vitest', 'run')
    expect(status, stdout).toBe(0)
  },
)

it(
  'the steps that `npm create bulkhead` prints work as printed with published packages, also after `npm install LIB`',
  ONLY_IN_SOAK,
  async () => {
    await using published = await startPublishedPackages()
    const at = mkdtempSync(join(folder, 'published-'))
    const env = { ...process.env, npm_config_registry: published.url, HOME: at, npm_config_cache: join(at, '.npm') }
    // The registry is in this process.
    const sh = async (script: string) => {
      const child = spawn('/bin/sh', ['-ec', script], { cwd: at, env, stdio: 'pipe' })
      child.stdin.end('word-count {"path":"README.md"}\n.exit\n')
      const [stdout, stderr, [status]] = await Promise.all([
        text(child.stdout), text(child.stderr), once(child, 'close'),
      ])
      expect(status, stdout + stderr).toBe(0)
      return stdout
    }
    const created = await sh('npm create --yes bulkhead word-count')
    await sh(stepsOf(created).join('\n'))
    const manifest = JSON.parse(readFileSync(join(at, 'word-count/package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    expect(`^${(await sh('cd word-count && npx bulkhead --version')).trim()}`).toBe(
      manifest.devDependencies['bulkhead'],
    )
    await sh('cd word-count && npm install yaml')
    const main = join(at, 'word-count/index.ts')
    writeFileSync(
      main,
      `import { parse } from 'yaml'\n${readFileSync(main, 'utf8').replace('.length }', '.length + parse("0") }')}`,
    )
    await sh('cd word-count && npm run types && npm test && npx bulkhead pack .')
    // Every declaration is checked, without the optional peers.
    writeFileSync(
      join(at, 'word-count/program.ts'),
      `import { createHost } from 'bulkhead'
import { createTestHost } from 'bulkhead/test'
import * as contract from '@bulkhead/contract'
export { contract, createHost, createTestHost }
`,
    )
    await sh('cd word-count && test ! -e node_modules/@opentelemetry/api && npx tsc --skipLibCheck false')
    await sh(
      'npm create --yes bulkhead pets -- --template openapi && cd pets && npm install'
      + ' && npm run generate && npm run types && npm test',
    )
  },
)
