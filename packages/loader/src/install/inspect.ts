import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { settle, type LoaderOptions } from '../config/settings.ts'
import { obtain } from './obtain-package.ts'
import { parseInstallSpec } from './install-spec.ts'
import { proveCandidate } from './prove-package.ts'

export interface Inspection {
  readonly extension: ExtensionDescriptor
  readonly files: number
  readonly bytes: number
  readonly warnings: readonly string[]
}

/**
 * Takes a folder or a tarball through every stage, under the policy of the global layer, and says what it is. Reaches
 * nobody and writes nothing. Rejects with the code of what is wrong with it.
 */
export async function inspectPackage(path: string, cwd: string, options: LoaderOptions): Promise<Inspection> {
  const settings = settle(options)
  const spec = parseInstallSpec(path, cwd)
  const { limits, trustRoot } = settings
  const candidate = await obtain(spec, { limits, trustRoot: trustRoot.json, registry: () => { throw new BulkheadError('InstallSourceInvalid', `"${path}" is the name of a package; name a folder or a tarball.`) } }, '')
  const { extension, warnings } = await proveCandidate(candidate, settings, 'global', null)
  const sizes = [...candidate.contents.bytes.values()].map(({ length }) => length)
  return { extension, warnings, files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}
