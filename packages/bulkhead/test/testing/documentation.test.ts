import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe } from 'vitest'
import { BLOCKS, ROOT } from '../pages/blocks.ts'

const folder = mkdtempSync(join(tmpdir(), 'testing-page-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'node_modules'))
for (const [name, target] of [['bulkhead', 'packages/bulkhead'], ['vitest', 'node_modules/vitest']] as const) {
  symlinkSync(join(ROOT, target), join(folder, 'node_modules', name))
}
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
for (const { page, file, text } of BLOCKS) {
  if (page === 'docs/guides/testing.md' && file !== undefined) writeFileSync(join(folder, file), text)
}

// Its tests become tests of this file.
describe('docs/guides/testing.md', async () => {
  await import(pathToFileURL(join(folder, 'orders.test.ts')).href)
})
