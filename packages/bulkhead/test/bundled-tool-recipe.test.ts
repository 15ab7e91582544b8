import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { BLOCKS, ROOT } from './pages/blocks.ts'

const FOLDER = 'packages/tools-bundled/src/word-count'
const FILES = BLOCKS.filter(({ page, file }) => page === 'CONTRIBUTING.md' && file !== undefined)

let copy: string
/** Below the copied folders, by path. */
const digests = (): ReadonlyMap<string, string> => new Map(
  globSync('{packages,docs}/**/*', { cwd: copy, withFileTypes: true, exclude: ['**/node_modules'] })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [path.slice(copy.length + 1), createHash('sha256').update(readFileSync(path)).digest('hex')]),
)
const { HOME, PATH, TMPDIR } = process.env
const env = { HOME, PATH, TMPDIR, NO_COLOR: '1' }
const run = (folder: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, args, {
    cwd: join(copy, folder), encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'],
  })
const VITEST = [
  join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', '../../vitest.shared.ts', '--reporter=verbose',
]
const test = (folder: string, ...args: readonly string[]): string => run(folder, ...VITEST, ...args)

/** A copy of the workspace. Its packages import each other, and use the installed libraries. */
beforeAll(() => {
  copy = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-recipe-')))
  for (const name of [
    'packages', 'docs', 'scripts', 'apps', 'bench', 'vitest.shared.ts', 'package.json', 'CONTRIBUTING.md', 'README.md',
    'llms.txt',
  ]) {
    const filter = (path: string): boolean => !/\/(?:dist|reports|\.turbo|\.vite)$/.test(path)
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, verbatimSymlinks: true, filter })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

it('the recipe of a bundled tool changes its folder and generated files only', ONLY_IN_SOAK, () => {
  const before = digests()
  for (const { file, text } of FILES) {
    mkdirSync(dirname(join(copy, FOLDER, file!)), { recursive: true })
    writeFileSync(join(copy, FOLDER, file!), text)
  }
  for (const name of ['contract', 'tools-bundled', 'bulkhead']) run(`packages/${name}`, 'scripts/generate.ts')
  const changed = [...digests()].flatMap(([path, digest]) => before.get(path) === digest ? [] : [path])
  expect(changed.toSorted()).toEqual([
    'docs/reference/tools.md', 'packages/contract/src/model/tool-names.ts', 'packages/tools-bundled/src/tool-list.ts',
    ...[...FILES.map(({ file }) => file!), 'pinned.yaml'].map((file) => `${FOLDER}/${file}`),
  ].toSorted())
  expect(readFileSync(join(copy, 'docs/reference/tools.md'), 'utf8'))
    .toContain('\n## `word_count`\n\nCounts the words of a text.\n')
})

it('the host offers the tool, and calls it', ONLY_IN_SOAK, () => {
  writeFileSync(join(copy, 'call.ts'), `
    import { createHost } from './packages/bulkhead/src/index.ts'
    const host = await createHost({ workspace: process.cwd(), home: process.cwd() + '/home', trust: 'declined' })
    const session = await host.openSession()
    const outcome = await session.call({ id: '1', name: 'word_count', arguments: { text: 'one two three' } })
    process.stdout.write(JSON.stringify([host.diagnostics, host.tool('word_count')?.layer, outcome.data ?? outcome]))
    await host.close()`)
  expect(JSON.parse(run('.', 'call.ts'))).toEqual([[], 'bundled', { words: 3 }])
})

it('its test passes, and its schema is pinned', ONLY_IN_SOAK, () => {
  expect(test('packages/tools-bundled', 'src/word-count', 'test/locked-schemas.test.ts'))
    .toContain('word_count has the pinned schema')
})

it('the tests that know every tool pass with it', ONLY_IN_SOAK, () => {
  const host = ['test/bundled-layer.test.ts', 'test/cancelled-tools.test.ts', '-t', 'are listed|word_count']
  expect(test('packages/bulkhead', ...host)).toContain('word_count ends when it is cancelled')
  expect(test('packages/contract', 'test/names.test.ts')).toContain('of locked tools')
  expect(test('packages/conformance', 'test/architecture', '-t', 'the workspace'))
    .toContain('imports inside a package point down')
})
