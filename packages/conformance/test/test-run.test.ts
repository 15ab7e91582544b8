// @module-tag long
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countTests, type Counts } from '../../../scripts/check/summary.mjs'
import { readReport } from '../../../scripts/check/reports.mjs'
import shared from '../../../vitest.shared.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const ofScripts = (file: string): string => JSON.stringify(join(ROOT, 'scripts', file))

/** The test files of a package. */
const FILES = {
  rejects: `it('passes', () => { void Promise.reject(new Error('lost')) })`,
  hook: `afterAll(() => { throw new Error('not removed') })\nit('passes', () => undefined)`,
  skips: `
    import { needs } from ${ofScripts('machine.ts')}
    import { runsIf } from ${ofScripts('skips.ts')}
    describe('a group', runsIf(false, 'no harbour'), () => it.each([1, 2])('test %d', () => { throw new Error('ran') }))
    it('bare', { skip: true }, () => undefined)
    it('runs', runsIf(true, 'no harbour'), () => undefined)
    it('needs', needs('Linux'), () => undefined)`,
  unsteady: `
    let runs = 0
    it('passes later', () => expect(++runs).toBe(2))`,
  waits: `
    it('polls', () => expect.poll(() => 1, { message: 'the tide' }).toBe(2))
    it('hangs', async () => {
      expect(1).toBe(1)
      const child = spawn('sleep', ['100'])
      onTestFinished(() => { child.kill() })
      await once(child, 'exit')
    })
    it('works', async () => { for (let n = 0; n < 30; n++) expect(await setTimeout(20, n)).toBe(n) })`,
}
const IMPORTS = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
`

let folder: string
let counts: Counts
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-test-run-'))
  for (const part of ['test', 'node_modules']) mkdirSync(join(folder, part))
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(folder, 'node_modules/vitest'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, text] of Object.entries(FILES))
    writeFileSync(join(folder, `test/${name}.test.ts`), `${IMPORTS}${text}\n`)
  // The configuration of all packages, except for a wait that is shorter.
  const options = ['--config', join(ROOT, 'vitest.shared.ts'), '--root', folder, '--expect.poll.timeout=300']
  await new Promise((ended) => void execFile(join(ROOT, 'node_modules/.bin/vitest'), ['run', ...options], ended))
  counts = countTests({ name: 'one', report: readReport(join(folder, 'reports/tests.json')) })
})
afterAll(() => rmSync(folder, { recursive: true }))

const problemsWith = (text: string): readonly string[] => counts.problems.filter((problem) => problem.includes(text))

it('counts an unhandled rejection as a failure', () => {
  expect(problemsWith('lost')).toEqual([
    expect.stringMatching(/^one: an error outside of the tests\n +Error: lost\n +at test\/rejects\.test\.ts:5$/),
  ])
})

it('counts a failed hook as a failure', () => {
  expect(problemsWith('not removed')).toEqual([
    expect.stringMatching(/^one: test\/hook\.test\.ts failed outside of its tests\n +Error: not removed\n/),
  ])
})

it('has the reason of each skipped test', () => {
  expect(counts.skips.toSorted().filter((reason) => reason !== 'needs Linux'))
    .toEqual(['no harbour', 'no harbour', 'without a reason'])
})

it('fails a test that makes no progress with what it waits for, and none that does', () => {
  expect(problemsWith('polls')).toEqual([
    expect.stringMatching(
      /^one: polls\n +(?:Assertion)?Error: the tide: expected 1 to be 2 .*\n +at test\/waits\.test\.ts:6$/,
    ),
  ])
  expect(problemsWith('hangs')).toEqual([
    expect.stringMatching(
      /^one: hangs\n +Error: No progress for 0\.3 s\. The test waits after 1 assertions\. Open: sleep 100, /,
    ),
  ])
  expect([counts.failed, problemsWith('works')]).toEqual([4, []])
})

it('names a test that failed and then passed, and does not count it as failed', () => {
  expect(counts.unsteady).toEqual([
    expect.stringMatching(
      /^one: passes later\n +AssertionError: expected 1 to be 2 .*\n +at test\/unsteady\.test\.ts:7$/,
    ),
  ])
})

it('lets a test of a package wait for a minute', async () => {
  expect((await shared({ command: 'serve', mode: 'test' })).test).toMatchObject({
    expect: { poll: { timeout: 60_000 } },
  })
})
