// Writes what follows from the folders of the tools: `pnpm generate`. A test compares it with them.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedFiles } from './generated-files.ts'

const root = join(import.meta.dirname, '../../..')
for (const [path, text] of await generatedFiles(root)) await writeFile(join(root, path), text)
