import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { apiPage } from '../../scripts/api-page.ts'
import { cliPage } from '../../scripts/cli-page.ts'
import { llmsPage } from '../../scripts/llms-page.ts'
import { specificationsPage } from '../../scripts/specifications-page.ts'
import { ROOT } from './blocks.ts'

it.each([
  ['docs/reference/api.md', apiPage], ['docs/reference/cli.md', cliPage],
  ['docs/reference/specifications.md', specificationsPage], ['llms.txt', llmsPage],
])('%s is what `pnpm generate` writes', async (name, page) => {
  expect(readFileSync(join(ROOT, name), 'utf8')).toBe(await page())
})
