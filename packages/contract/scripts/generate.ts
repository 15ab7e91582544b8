/**
 * Writes the generated files that are committed: the JSON Schemas for editors, and the reference pages of errors,
 * events, limits, the manifest, the configuration and the conformance report.
 * --check writes nothing; the exit code is 1 if a file differs
 * --root FOLDER the root of the repository; default: the one of this file
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generatedFiles } from './generated-files.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
const { check, root } = parseArgs({
  options: { check: { type: 'boolean', default: false }, root: { type: 'string', default: repository } },
}).values

for (const [path, text] of generatedFiles(root)) {
  const name = relative(root, path)
  const present = await readFile(path, 'utf8').catch(() => undefined)
  if (present === text) continue
  if (check) {
    console.error(`${name} differs from its source. Run \`pnpm generate\` and commit the result.`)
    process.exitCode = 1
  } else {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
    console.log(`wrote ${name}`)
  }
}
