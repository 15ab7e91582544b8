import { BulkheadError, MANIFEST_FILE, type ExtensionDescriptor, type Layer } from '@bulkhead/contract'
import { resolveConfig } from '../config/resolve-config.ts'
import { resolveSettings, type LoaderOptions, type Settings } from '../config/settings.ts'
import type { ProofContext } from '../describe/extension.ts'
import { isCovered } from '../files/integrity.ts'
import type { PackageContents } from '../files/read-package.ts'
import type { LayerLock } from '../lock/lock-file.ts'
import { faultError } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import { proveContents } from '../prove/pipeline.ts'
import { WorkerSchemaChecker } from '../schema/schema-checker.ts'
import { PackageSignatures } from '../signature/package-signatures.ts'
import { obtainPackage, parseInstallSpec, type ObtainedPackage } from './obtain-package.ts'

export interface ProvenPackage {
  readonly extension: ExtensionDescriptor
  readonly warnings: readonly string[]
  readonly context: ProofContext
}

/** Runs all stages except the lock, as if the package were in the layer. Rejects with the fault of the package. */
export async function provePackage(
  obtained: ObtainedPackage, settings: Settings, layer: Layer, projectRoot: string | null,
): Promise<ProvenPackage> {
  const { source, attested, location, contents, version } = obtained
  const context = contextFor(settings, layer, projectRoot, { kind: 'deciding', source, attested })
  const proof = await proveContents({ layer, location, part: location }, contents, context)
  if (proof.kind === 'disabled') {
    throw new BulkheadError('ConfigInvalid', `The configuration disables "${proof.id}". Enable it first.`)
  }
  if (proof.kind === 'refused') throw faultError(proof.faults)
  const { descriptor, warnings } = proof
  if (version !== null && descriptor.version !== version) {
    throw new BulkheadError(
      'PackageUnsafe', `The package is ${location}, but its ${MANIFEST_FILE} has version ${descriptor.version}.`,
    )
  }
  return {
    extension: withCode(descriptor, contents),
    warnings: [...obtained.warnings, ...warnings.map(({ message }) => message)], context,
  }
}

/** The code is the proven bytes in memory, since they are not installed yet. */
function withCode(descriptor: ExtensionDescriptor, { bytes }: PackageContents): ExtensionDescriptor {
  const files = new Map([...bytes].filter(([path]) => isCovered(path)))
  return Object.freeze({ ...descriptor, code: Object.freeze({ kind: 'files' as const, readFiles: async () => files }) })
}

function contextFor(settings: Settings, layer: Layer, projectRoot: string | null, lock: LayerLock): ProofContext {
  const { coreVersion, limits, trustRoot } = settings
  const { config } = resolveConfig(settings, projectRoot, undefined)
  return {
    coreVersion, config, limits, yielder: new Yielder(), locks: new Map([[layer, lock]]),
    schemas: new WorkerSchemaChecker(limits), signatures: new PackageSignatures(trustRoot),
  }
}

export interface Inspection {
  readonly extension: ExtensionDescriptor
  readonly files: number
  readonly bytes: number
  readonly warnings: readonly string[]
}

/**
 * Proves a folder or a tarball under the policy of the global layer. Makes no request and writes nothing. Rejects with
 * the fault of the package.
 */
export async function inspectPackage(path: string, cwd: string, options: LoaderOptions): Promise<Inspection> {
  const settings = resolveSettings(options)
  const spec = parseInstallSpec(path, cwd)
  const { limits, trustRoot } = settings
  const registry = () => {
    throw new BulkheadError('InstallSourceInvalid', `"${path}" is a package name. Use a folder or a tarball.`)
  }
  const obtained = await obtainPackage(spec, { limits, trustRoot: trustRoot.json, registry }, '')
  const { extension, warnings } = await provePackage(obtained, settings, 'global', null)
  const sizes = [...obtained.contents.bytes.values()].map(({ length }) => length)
  return { extension, warnings, files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}
