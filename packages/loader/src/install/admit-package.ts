import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { resolveConfig } from '../config/resolve-config.ts'
import { resolveSettings, type LoaderOptions } from '../config/settings.ts'
import { coveredFiles, isCovered } from '../files/integrity.ts'
import { writeTarball } from '../files/tar-format.ts'
import { entryOf, readLayerLock } from '../lock/lock-file.ts'
import { packageDigest } from '../model/digest.ts'
import { faultError } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import { packagePolicy } from '../prove/check-package.ts'
import { proveContents } from '../prove/pipeline.ts'
import { WorkerSchemaChecker } from '../schema/schema-checker.ts'
import { PackageSignatures } from '../signature/package-signatures.ts'
import { unpack } from './obtain-package.ts'

/** The files of a package as `admitPackage` reads them. */
export const packFiles = (files: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> => writeTarball(files)

/**
 * A package that came from elsewhere, if this machine trusts it: its digest is accepted in the lock of the global layer, or
 * a pinned identity has signed it, or `isTrusted`. It passes the stages of the global layer besides. Nothing is installed.
 * Rejects with the fault of the package.
 */
export async function admitPackage(
  bytes: Uint8Array, digest: string, options: LoaderOptions, isTrusted: (digest: string) => boolean,
): Promise<ExtensionDescriptor> {
  const settings = resolveSettings(options)
  const { coreVersion, limits, trustRoot, globalRoot } = settings
  const name = digest.slice(0, 16)
  const contents = await unpack(bytes, limits, name)
  if (packageDigest(coveredFiles(contents.digests)) !== digest) {
    throw new BulkheadError('IntegrityFailed', `The bytes of the package are not those of the digest ${name}….`)
  }
  const lock = globalRoot === null ? undefined : readLayerLock(globalRoot, limits)
  const context = {
    coreVersion, config: resolveConfig(settings, null, undefined).config, limits, yielder: new Yielder(),
    locks: new Map(lock && [['global' as const, lock]]), schemas: new WorkerSchemaChecker(limits),
    signatures: new PackageSignatures(trustRoot),
  }
  const proof = await proveContents({ layer: 'global', location: name, part: name }, contents, context)
  if (proof.kind === 'disabled') throw new BulkheadError('ConfigInvalid', `The configuration disables "${proof.id}".`)
  if (proof.kind === 'refused') throw faultError(proof.faults)
  const { descriptor } = proof
  const { id } = descriptor
  const isSigned = descriptor.integrity === 'signed'
    && packagePolicy(context, { layer: 'global', part: name, outline: { id } }).pin !== undefined
  if (!isSigned && (lock && entryOf(lock, id)?.root) !== digest && !isTrusted(digest)) throw untrusted(id, digest)
  const files = new Map([...contents.bytes].filter(([path]) => isCovered(path)))
  return Object.freeze({ ...descriptor, code: Object.freeze({ kind: 'files' as const, readFiles: async () => files }) })
}

const untrusted = (id: string, digest: string): BulkheadError => new BulkheadError(
  'SignatureInvalid', `No pinned identity has signed "${id}", and it is not accepted here. Install it on this machine, pin `
    + `its signer in policy.identities, or run: bulkhead worker trust package ${id} ${digest}`,
)
