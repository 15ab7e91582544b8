import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { apiPage } from '../../scripts/api-page.ts'
import { cliPage } from '../../scripts/cli-page.ts'
import { specificationsPage } from '../../scripts/specifications-page.ts'
import { ROOT } from './blocks.ts'

it.each([
  ['api.md', apiPage], ['cli.md', cliPage], ['specifications.md', specificationsPage],
])('docs/reference/%s is what `pnpm generate` writes', async (name, page) => {
  expect(readFileSync(join(ROOT, 'docs/reference', name), 'utf8')).toBe(await page())
})
