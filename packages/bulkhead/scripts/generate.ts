// Writes the reference pages that follow from this package: `pnpm generate`. A test compares them with their sources.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { apiPage } from './api-page.ts'
import { cliPage } from './cli-page.ts'
import { llmsPage } from './llms-page.ts'
import { specificationsPage } from './specifications-page.ts'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'docs/reference')
await writeFile(join(folder, 'cli.md'), await cliPage())
await writeFile(join(folder, 'api.md'), apiPage())
await writeFile(join(folder, 'specifications.md'), specificationsPage())
await writeFile(join(root, 'llms.txt'), llmsPage())
