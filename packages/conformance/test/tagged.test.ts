// @module-tag long
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { inMemory } from '../../../scripts/check/in-memory.mjs'
import { runTagged } from '../../../scripts/check/tagged.mjs'

const ROOT = resolve(import.meta.dirname, '../../..')

it('the tests with a tag are counted where their temporary files are in memory', async () => {
  // Not in the folder of temporary files, which the command does not see.
  const reports = join(import.meta.dirname, '../reports')
  mkdirSync(reports, { recursive: true })
  const root = mkdtempSync(join(reports, 'tagged-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = join(root, 'packages/one')
  mkdirSync(join(folder, 'test'), { recursive: true })
  const shared = JSON.stringify(join(ROOT, 'vitest.shared.ts'))
  writeFileSync(join(root, 'vitest.shared.ts'), `export { default } from ${shared}\n`)
  writeFileSync(join(folder, 'package.json'), '{ "name": "one", "type": "module", "scripts": { "test": "vitest" } }')
  const tests = `import { expect, it } from 'vitest'
it('is long', { tags: ['long'] }, () => undefined)
it('is short', () => expect(1).toBe(2))
`
  writeFileSync(join(folder, 'test/one.test.ts'), tests)
  expect(await runTagged(root, 'long', /tags: \['long'\]/, inMemory(root, Infinity)))
    .toMatchObject([{ name: 'one', passed: 1, failed: 0 }])
})
