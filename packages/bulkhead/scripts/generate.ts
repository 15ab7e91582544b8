// Writes the reference pages that follow from this package: `pnpm generate`. A test compares them with their sources.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { apiPage } from './api-page.ts'
import { cliPage } from './cli-page.ts'
import { specificationsPage } from './specifications-page.ts'

const folder = join(import.meta.dirname, '../../../docs/reference')
await writeFile(join(folder, 'cli.md'), await cliPage())
await writeFile(join(folder, 'api.md'), apiPage())
await writeFile(join(folder, 'specifications.md'), specificationsPage())
