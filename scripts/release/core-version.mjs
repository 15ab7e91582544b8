// Part of `pnpm versions`: the host knows its own version without reading package.json at every start.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The host's own version, and that of the tools that ship with it. Their packages have the same version. */
const CONSTANTS = [
  /(CORE_VERSION = ['"])[^'"]+/g,
  /(requiredCoreVersion: ['"]\^)[^'"]+(['"][,;]\s+(?:readonly )?version: ['"])[^'"]+/g,
]

const FILES = [
  'bulkhead/src/facade/version.ts', 'tools-bundled/src/model/bundled-extension.ts',
  '{bulkhead,tools-bundled}/dist/**/*.{js,d.ts}',
]

/**
 * Writes the version of package.json into the sources, and into what was built from them.
 * @param {string} packages the folder of the packages
 */
export function writeCoreVersion(packages) {
  const { version } = JSON.parse(readFileSync(join(packages, 'bulkhead/package.json'), 'utf8'))
  for (const file of globSync(FILES, { cwd: packages }).map((name) => join(packages, name))) {
    const before = readFileSync(file, 'utf8')
    const after = CONSTANTS.reduce(
      (text, constant) => text.replaceAll(constant, (_, first, second) =>
        typeof second === 'string' ? first + version + second + version : first + version),
      before,
    )
    if (after !== before) writeFileSync(file, after)
  }
}

if (import.meta.main) writeCoreVersion(fileURLToPath(new URL('../../packages', import.meta.url)))
