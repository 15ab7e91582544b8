// Part of `pnpm versions`: the host knows its own version without reading package.json at every start.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @param {string} folder the folder of the package `bulkhead` */
export function writeCoreVersion(folder) {
  const file = join(folder, 'src/facade/version.ts')
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  writeFileSync(file, readFileSync(file, 'utf8').replace(/(CORE_VERSION = )'[^']+'/, `$1'${version}'`))
}

if (import.meta.main) writeCoreVersion(fileURLToPath(new URL('../../packages/bulkhead', import.meta.url)))
