/**
 * Writes what is derived from the sources and committed: the JSON Schemas for editors and docs/errors.md.
 * With --check nothing is written, and the exit code is 1 when a file differs.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatedFiles } from './generated-files.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const checkOnly = process.argv.includes('--check')

for (const [path, text] of generatedFiles(root)) {
  const present = await readFile(path, 'utf8').catch(() => undefined)
  if (present === text) continue
  if (checkOnly) {
    console.error(`${relative(root, path)} differs from its source. Run \`pnpm generate\` and commit the result.`)
    process.exitCode = 1
  } else {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
    console.log(`wrote ${relative(root, path)}`)
  }
}
