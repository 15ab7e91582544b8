import { isJsonObject, pointerStep } from '@bulkhead/kit/json'
import { removeJson } from '@bulkhead/kit/json-edit'
import { parseStrictJson } from '../files/json-file.ts'
import { packageNames } from './bundled-files.ts'
import { codeOf, mentions } from './source.ts'

/** What npm installs together with a package. */
const INSTALLED = ['dependencies', 'optionalDependencies'] as const

/**
 * package.json without the dependencies that are bundled, and without those that no packed file mentions. A host
 * installs none, and npm would install again what the package contains. The rest stays as it is written.
 */
export function withoutBundled(
  packageJson: Uint8Array, bundled: ReadonlySet<string>, files: ReadonlyMap<string, Uint8Array>,
): Uint8Array {
  const parsed = parseStrictJson(packageJson)
  const about = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  const code = codeOf(files)
  const pointers = INSTALLED.flatMap((kind) => {
    const listed = about[kind]
    if (!isJsonObject(listed)) return []
    return Object.entries(listed).filter(([name, version]) =>
      packageNames(name, version).some((one) => bundled.has(one)) || !code.some((text) => mentions(text, name)))
      .map(([name]) => `/${kind}${pointerStep(name)}`)
  })
  if (pointers.length === 0) return packageJson
  return Buffer.from(removeJson(Buffer.from(packageJson).toString(), new Set(pointers)))
}
