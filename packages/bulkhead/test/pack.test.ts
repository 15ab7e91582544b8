import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'
import type { Ran } from './command.ts'
import { useThreads } from './extension-folder.ts'
import { writeGreeter } from './greeter.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-pack-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]): Promise<Ran> => inside(args, folder)
const json = async (...args: string[]) => {
  const { code, stdout } = await run(...args, '--json')
  return { code, ...JSON.parse(stdout) as Record<string, unknown> }
}
const greet = (version: string) => writeGreeter(folder, version)

describe('bulkhead pack and verify', () => {
  it('create and verify a package', async () => {
    const at = greet('1.0.0')
    expect(await run('pack', at)).toMatchObject({
      code: 0, stdout: expect.stringMatching(/greeter 1\.0\.0[\s\S]*written +.*greeter-1\.0\.0\.tgz/),
    })
    expect(await json('verify', 'greeter-1.0.0.tgz')).toMatchObject({
      code: 0, verified: true, integrity: 'verified', files: 3,
    })
    expect(await json('verify', at)).toMatchObject({ code: 0, integrity: 'verified' })
    writeFileSync(join(at, 'index.js'), 'changed')
    expect(await json('verify', at)).toMatchObject({ code: 1, error: { code: 'IntegrityFailed' } })
  })

  it('bundle CommonJS dependencies', LONG, async () => {
    useThreads(join(folder, 'home/.bulkhead'))
    const at = greet('1.0.0')
    writeFileSync(
      join(at, 'index.js'), `import { word } from 'dep'\nexport default { tools: { greet: { execute: () => word } } }`,
    )
    mkdirSync(join(at, 'node_modules/dep'), { recursive: true })
    writeFileSync(
      join(at, 'node_modules/dep/package.json'), '{ "name": "dep", "version": "1.0.0", "main": "main.cjs" }',
    )
    writeFileSync(
      join(at, 'node_modules/dep/main.cjs'),
      `const { inner } = require('./inner.cjs'); exports.word = require('util').format('bundled %s', inner)`,
    )
    writeFileSync(join(at, 'node_modules/dep/inner.cjs'), `exports.inner = 'word'`)
    expect(await json('pack', at)).toMatchObject({ code: 0, bundled: true, leftOut: ['node_modules'] })
    expect(await run('install', './greeter-1.0.0.tgz', '--yes')).toMatchObject({ code: 0 })
    expect(await run('call', 'greet')).toMatchObject({ code: 0, stdout: 'bundled word\n' })
  })

  it('bundle TypeScript, and list what goes into the package', async () => {
    const at = greet('1.0.0')
    rmSync(join(at, 'index.js'))
    const manifest = JSON.parse(readFileSync(join(at, 'bulkhead.json'), 'utf8')) as object
    writeFileSync(join(at, 'bulkhead.json'), JSON.stringify({ ...manifest, main: './index.ts' }))
    writeFileSync(
      join(at, 'index.ts'),
      `import { word } from './word.ts'\nexport default { tools: { greet: { execute: (): string => word } } }`,
    )
    writeFileSync(join(at, 'word.ts'), `export const word: string = 'typed'`)
    const { code, stdout } = await run('pack', at)
    expect({ code, stdout }).toMatchObject({
      code: 0, stdout: expect.stringMatching(/file +index\.js, \d+ B[\s\S]*left out index\.ts, word\.ts/),
    })
    expect(await json('verify', 'greeter-1.0.0.tgz')).toMatchObject({ code: 0, files: 4 })
    writeFileSync(join(at, 'word.ts'), 'export const word: = 1')
    expect(await json('pack', at)).toMatchObject({
      code: 1,
      error: {
        code: 'CompartmentStartFailed',
        message: expect.stringMatching(/^word\.ts, line 1, cannot be parsed[\s\S]*word\.ts:1/),
      },
    })
  })

  it('prefer the ES modules of a dual package, without unused code', LONG, async () => {
    useThreads(join(folder, 'home/.bulkhead'))
    const at = greet('1.0.0')
    const dual = join(at, 'node_modules/dual')
    mkdirSync(dual, { recursive: true })
    const conditions = { require: './all.cjs', import: './all.js' }
    writeFileSync(
      join(dual, 'package.json'),
      JSON.stringify({
        name: 'dual', version: '1.0.0', type: 'module', exports: { '.': conditions, './node': { node: conditions } },
      }),
    )
    const names = Array.from({ length: 500 }, (_, index) => `part${index}`)
    writeFileSync(join(dual, 'all.cjs'), names.map((name) => `exports.${name} = () => 'CommonJS ${name}'\n`).join(''))
    writeFileSync(join(dual, 'all.js'), names.map((name) => `export const ${name} = () => 'module ${name}'\n`).join(''))
    writeFileSync(join(at, 'index.js'), `import { part7 } from 'dual'\nimport { part8 } from 'dual/node'
export default { tools: { greet: { execute: () => part7() + ' ' + part8() } } }`)
    expect(await json('pack', at)).toMatchObject({ code: 0, bundled: true })
    expect(await run('install', './greeter-1.0.0.tgz', '--yes')).toMatchObject({ code: 0 })
    expect(await run('call', 'greet')).toMatchObject({ code: 0, stdout: 'module part7 module part8\n' })
    const installed = join(folder, 'home/.bulkhead/installed')
    const main = readFileSync(
      join(
        installed, readdirSync(installed).find((entry) => entry.startsWith('greeter-'))!, 'index.js',
      ),
      'utf8',
    )
    expect(main.length).toBeLessThan(1_000)
  })

  it('use the CommonJS copy for CommonJS importers, like Node', LONG, async () => {
    useThreads(join(folder, 'home/.bulkhead'))
    const at = greet('1.0.0')
    for (const name of ['dual', 'old']) mkdirSync(join(at, 'node_modules', name), { recursive: true })
    writeFileSync(
      join(at, 'node_modules/dual/package.json'),
      JSON.stringify({ name: 'dual', version: '1.0.0', exports: { import: './no.mjs', require: './yes.cjs' } }),
    )
    writeFileSync(join(at, 'node_modules/dual/no.mjs'), `export const copy = 'module'`)
    writeFileSync(join(at, 'node_modules/dual/yes.cjs'), `exports.copy = 'CommonJS'`)
    writeFileSync(
      join(at, 'node_modules/old/package.json'), '{ "name": "old", "version": "1.0.0", "main": "main.cjs" }',
    )
    writeFileSync(join(at, 'node_modules/old/main.cjs'), `exports.copy = require('dual').copy`)
    writeFileSync(
      join(at, 'index.js'), `import { copy } from 'old'\nexport default { tools: { greet: { execute: () => copy } } }`,
    )
    expect(await json('pack', at)).toMatchObject({ code: 0, bundled: true })
    expect(await run('install', './greeter-1.0.0.tgz', '--yes')).toMatchObject({ code: 0 })
    expect(await run('call', 'greet')).toMatchObject({ code: 0, stdout: 'CommonJS\n' })
  })

  it('escape control characters in the names of omitted files', async () => {
    const at = greet('1.0.0')
    writeFileSync(join(at, '.hid\u001b[31mden'), '')
    expect((await run('pack', at)).stdout).toContain('  left out .hid\\u{1b}[31mden\n')
  })

  it('detect changes after the installation', async () => {
    await run('install', greet('1.0.0'), '--yes')
    const installed = join(folder, 'home/.bulkhead/installed')
    const name = readdirSync(installed).find((entry) => entry.startsWith('greeter-'))
    writeFileSync(join(installed, name!, 'index.js'), 'changed')
    expect(await json('verify')).toMatchObject({
      code: 1, diagnostics: [{ code: 'LockMismatch', extensionId: 'greeter' }],
    })
    expect((await run('verify')).stdout).toMatch(/^No installed extension can be used\.\n[\s\S]*error LockMismatch/)
  })
})
