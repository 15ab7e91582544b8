import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { CONFIG, IDLE, imports, TOKEN, TOOL, WAYS } from './bundled-ways.ts'
import { inside } from './command-inside.ts'

const BULKHEAD = {
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: 'taker', version: '1.0.0',
  main: './index.ts',
  tools: [{ name: 'take', description: 'Takes.', inputSchema: { type: 'object' }, mode: 'read', gated: false }],
}
let home: string
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-bundled-')))
  write({
    '.docker/config.json': JSON.stringify({ auth: TOKEN }), '.docker/token.txt': TOKEN,
    '.docker/jsx-runtime.ts': `export const jsx = '${TOKEN}'`, '.docker/token.ts': `export default '${TOKEN}'`,
    '.docker/package.json': `{ "name": "docker", "token": "${TOKEN}" }`,
    'work/taker/bulkhead.json': JSON.stringify(BULKHEAD),
  })
})
afterEach(() => rmSync(home, { recursive: true }))

/** Values that are not text are written as JSON. */
function write(files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  }
}
const inFolder = (files: Readonly<Record<string, unknown>>): void =>
  write(Object.fromEntries(Object.entries(files).map(([name, content]) => [`work/taker/${name}`, content])))
const link = (name: string, to: string): void => {
  mkdirSync(dirname(join(home, name)), { recursive: true })
  symlinkSync(to, join(home, name))
}
const run = (...args: string[]) => inside(args, join(home, 'work'), { HOME: home })
const pack = (...args: string[]) => run('pack', './taker', ...args)

/** Everything in the tarball that `pack` wrote. */
const packedText = (): string => gunzipSync(readFileSync(join(home, 'work/taker-1.0.0.tgz'))).toString()

describe('a file outside the folder', () => {
  it.each(Object.keys(WAYS))('is refused if the code names it by %s', async (name) => {
    const { code, files = {}, links = {}, names = '.docker/config.json', importer = 'index.ts' } = WAYS[name]!(home)
    inFolder({ ...files, 'index.ts': code })
    for (const [at, to] of Object.entries(links)) link(`work/taker/${at}`, to)
    const { code: exit, stdout, stderr } = await pack()
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
    expect(stderr).toMatch(/^PackageUnsafe /)
    expect(stderr).toContain(`"${importer}" imports "${join(home, names)}"`)
    expect(stderr).not.toContain(TOKEN)
  })

  it.each(Object.entries(IDLE))('is not bundled by %s', async (_, { code, files = {} }) => {
    inFolder({ ...files, 'index.ts': code })
    const { code: exit, stdout, stderr } = await pack()
    expect(`${stdout}${stderr}${exit === 0 ? packedText() : ''}`).not.toContain(TOKEN)
  })

  it.each([
    ['extends', { extends: '../../.docker/config.json' }],
    ['extends, in a list', { extends: ['../../.docker/config'] }],
    ['references', { references: [{ path: '../../.docker/config.json' }] }],
    ['extends of what it extends', { extends: './.base/tsconfig.json' }],
  ])('is refused in tsconfig.json: %s', async (_, tsconfig) => {
    const base = `{ // An outer file, with a comment.\n "extends": "../../../.docker/config.json", }`
    inFolder({
      'tsconfig.json': tsconfig, '.base/tsconfig.json': base, 'index.ts': imports('./own.json'), 'own.json': '1',
    })
    const { code: exit, stderr } = await pack()
    expect(exit).toBe(1)
    expect(stderr).toMatch(/^PackageUnsafe ".*tsconfig\.json" includes ".*\.docker\/config\.json", which is outside /)
  })

  const refuses = async (...args: readonly string[]): Promise<void> => {
    inFolder({ 'index.ts': imports(CONFIG) })
    const {
      code: exit, stdout, stderr,
    } = await inside(args, join(home, 'work'), { HOME: home, SIGSTORE_ID_TOKEN: 'a.b.c' })
    expect({ exit, stdout, stderr }).toMatchObject({
      exit: 1, stdout: '', stderr: expect.stringMatching(/^PackageUnsafe "index\.ts" imports /),
    })
  }
  it.each([
    ['install', './taker', '--dry-run'], ['pack', './taker'], ['call', './taker', 'take'],
  ])('is refused by bulkhead %s', refuses)
  it.each([
    ['dev', './taker'], ['diff', './taker', './taker'], ['sign', './taker'], ['publish', './taker', '--dry-run'],
    ['conformance', './taker', '--only', 'manifest'],
  ])('is refused by bulkhead %s', LONG, refuses)
})

const digestOf = (name: string): string => hash('sha512', readFileSync(join(home, name)), 'hex')
const listed = (...names: string[]) =>
  names.map((name) => ({ path: relative(join(home, 'work/taker'), join(home, name)), digest: digestOf(name) }))

describe('what is bundled', () => {
  beforeEach(() => {
    inFolder({
      'index.ts': `import x from '@own/words.json'\nimport text from './note.txt'\n`
        + `import dep from 'dep'\n${TOOL.replace('=> x', '=> [x, text, dep]')}`,
      'src/words.json': '["owl"]', 'note.txt': 'a note', 'package.json': { name: 'taker', version: '1.0.0' },
      'tsconfig.json': { extends: './tsconfig.base.json' },
      'tsconfig.base.json': '/* For all. */ { "compilerOptions": { "paths": { "@own/*": ["./src/*"], }, }, }',
      'node_modules/.pnpm/dep@1/node_modules/dep/package.json': { name: 'dep', main: './index.js' },
      'node_modules/.pnpm/dep@1/node_modules/dep/index.js': `module.exports = 'a dependency'`,
    })
    link('work/taker/node_modules/dep', '.pnpm/dep@1/node_modules/dep')
  })
  const NAMES = ['index.ts', 'node_modules/.pnpm/dep@1/node_modules/dep/index.js', 'note.txt', 'src/words.json']
    .map((name) => `work/taker/${name}`)

  it('comes from the folder and its own packages, and is listed with digests', async () => {
    const { code, stdout } = await pack('--json')
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0, bundled: true, root: null, sources: listed(...NAMES),
    })
    expect(packedText()).toContain('a dependency')
    const installed = await run('install', './taker', '--dry-run', '--json')
    expect(JSON.parse(installed.stdout)).toMatchObject({ id: 'taker', root: null, sources: listed(...NAMES) })
    for (const args of [
      ['install', './taker', '--dry-run'], ['pack', './taker'], ['publish', './taker', '--dry-run'],
    ]) {
      const { stdout: out, stderr } = await run(...args)
      const review = `${out}${stderr}`
      expect(review).toContain('Bundled from 4 files:\n')
      for (const { path, digest } of listed(...NAMES)) expect(review).toContain(`  ${digest.slice(0, 32)}  ${path}\n`)
    }
  })

  it('is removed from the dependencies of the packed package.json, and nothing else changes', async () => {
    inFolder({
      'index.ts': `import a from 'dep'\nimport b from '@acme/dep'\n`
        + `import c from 'renamed'\n${TOOL.replace('=> x', '=> [a, b, c]')}`,
      'node_modules/dep/index.js': `module.exports = require('below')`,
      'node_modules/below/index.js': 'module.exports = 1', 'node_modules/@acme/dep/index.js': 'export default 2',
      'more.js': 'import "other"', 'node_modules/unused/index.js': '',
      'node_modules/.store/node_modules/own-name/index.js': 'export default 3',
      'package.json':
        '{ "name":  "taker", "version": "1.0.0", "dependencies": { "dep": "^1", "other": "^1", "unused": "^1",\n'
        + ' "renamed": "npm:own-name@^1" }, "optionalDependencies": { "@acme/dep": "^2" } }',
    })
    link('work/taker/node_modules/renamed', '.store/node_modules/own-name')
    expect(await pack()).toMatchObject({ code: 0, stderr: '' })
    expect(packedText()).toContain('{ "name":  "taker", "version": "1.0.0", "dependencies": { "other": "^1" } }')
    expect(readFileSync(join(home, 'work/taker/package.json'), 'utf8')).toContain('"dep": "^1"')
  })

  it('does not follow the tsconfig.json of an outer folder', async () => {
    write({
      'work/tsconfig.json': { compilerOptions: { paths: { './note.txt': ['./other.txt'] } } },
      'work/other.txt': 'other',
    })
    rmSync(join(home, 'work/taker/tsconfig.json'))
    inFolder({ 'index.ts': `import x from './note.txt'\n${TOOL}` })
    expect(JSON.parse((await pack('--json')).stdout)).toMatchObject({
      sources: listed('work/taker/index.ts', 'work/taker/note.txt'),
    })
  })
})

describe('in a monorepo', () => {
  const using = (...names: string[]) => names.map((name, at) => `import d${at} from '${name}'\n`).join('')
    + TOOL.replace('=> x', `=> [${names.map((_, at) => `d${at}`).join()}]`)
  beforeEach(() => {
    write({
      'work/package.json': { name: 'all', dependencies: { hoisted: '1' } }, 'work/token.json': JSON.stringify(TOKEN),
      'work/node_modules/hoisted/package.json': { name: 'hoisted', main: './index.js', dependencies: { below: '1' } },
      'work/node_modules/hoisted/index.js': `module.exports = require('./more.json') + require('below')`,
      'work/node_modules/hoisted/more.json': '"hoisted"',
      'work/node_modules/below/index.js': `module.exports = 'below'`,
      'work/node_modules/other/index.js': `module.exports = 'undeclared'`,
      'work/libs/shared/package.json': { name: '@acme/shared', main: './index.ts' },
      'work/libs/shared/index.ts': `export default 'shared' as string`,
      'work/taker/package.json': { name: 'taker', dependencies: { '@acme/shared': '*', 'docker': '*', 'all': '*' } },
    })
    link('work/taker/node_modules/@acme/shared', '../../../libs/shared')
    inFolder({ 'index.ts': using('hoisted', '@acme/shared') })
  })

  it('takes declared packages of the outer folder that the operator names, and shows it', LONG, async () => {
    expect(await pack()).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^PackageUnsafe .* name the outer folder with --root\./),
    })
    const { stdout } = await pack('--root', '.', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      root: join(home, 'work'), sources: listed(
        'work/libs/shared/index.ts', 'work/node_modules/below/index.js', 'work/node_modules/hoisted/index.js',
        'work/node_modules/hoisted/more.json', 'work/taker/index.ts',
      ),
    })
    expect(packedText()).toContain('"below"')
    expect(packedText()).toContain('{"name":"taker"}')
    const { stderr } = await run('install', './taker', '--root', '.', '--dry-run')
    expect(stderr).toContain(`Bundled from 5 files, with packages of ${join(home, 'work')}:\n`)
  })

  it('takes JavaScript as well', LONG, async () => {
    rmSync(join(home, 'work/taker/node_modules'), { recursive: true })
    inFolder({ 'bulkhead.json': { ...BULKHEAD, main: './index.js' }, 'index.js': using('hoisted') })
    const { stdout } = await run('install', './taker', '--root', '.', '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      sources: expect.arrayContaining(listed('work/node_modules/hoisted/index.js')),
    })
  })

  it.each([
    ['an undeclared package', 'other', 'belongs to the package "other", which no package.json on the way declares'],
    ['a file of no package', '../token.json', 'is outside the folder of the extension, and in no package'],
    ['a file of the outer package by its name', 'all/token.json', 'and in no package'],
    ['a file outside the outer folder', CONFIG, 'is outside "'],
    ['a link to a file outside', 'docker/config.json', 'is outside "'],
  ])('refuses %s', async (_, name, fault) => {
    link('work/taker/node_modules/all', '../..')
    link('work/taker/node_modules/docker', '../../../.docker')
    inFolder({ 'index.ts': using(name) })
    expect(await pack('--root', '.')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(fault) })
  })

  it('refuses an outer folder that does not contain the extension, or that is not used', async () => {
    expect(await pack('--root', './libs')).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid --root: "\.\/libs" does not contain /),
    })
    expect(await pack('--root', './gone')).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid --root: "\.\/gone" cannot be read: /),
    })
    expect(await run('call', 'take', '--root', '.')).toMatchObject({
      code: 2, stderr: expect.stringMatching(/^--root is for /),
    })
    expect(await run('install', 'taker', '--root', '.')).toMatchObject({ code: 2 })
  })
})
