// Part of `pnpm build`: the documentation ships inside the package `bulkhead`.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What is copied: the pages, and the files at the root that they link to. */
export const DOCUMENTATION = ['docs', 'llms.txt', 'ARCHITECTURE.md', 'SECURITY.md']

/** @param {string} folder the folder of the package */
export function copyDocumentation(folder) {
  for (const name of DOCUMENTATION) {
    rmSync(join(folder, name), { recursive: true, force: true })
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  }
}

if (import.meta.main) copyDocumentation(join(ROOT, 'packages/bulkhead'))
