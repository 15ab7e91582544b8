import {
  BulkheadError, type ConnectedServer, type ExtensionCode, type ExtensionDescriptor, type ExtensionDigests,
  type ExtensionSigner, type IntegrityStatus, type Layer, type Manifest,
} from '@bulkhead/contract'
import {
  coveredFiles, differenceInWords, isCovered, packageDifferences, type PackageDifference,
} from '../files/integrity.ts'
import { readPackage } from '../files/read-package.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Pace } from '../model/yielder.ts'
import type { Terms } from '../prove/package-policy.ts'
import type { Told, Vouched } from './extension.ts'

/** What is known of an extension that has passed every stage. Its bytes are read again when its code is needed. */
export function describe(vouched: Vouched, { limits }: Terms): ExtensionDescriptor {
  const { outline: { id }, location, origin } = vouched
  const server = origin.kind === 'module' ? origin.connection?.server : undefined
  const code: ExtensionCode = origin.kind === 'module'
    ? { kind: 'module', module: origin.module } : filesOf(id, location, origin.evidence.fileDigests, limits)
  return new Descriptor(vouched, Object.freeze(code), server)
}

/** Two members are asked of whoever knows them, and are members of the object all the same: it can be copied as plain data can. */
class Descriptor implements ExtensionDescriptor {
  static readonly #MANIFEST = { get(this: Descriptor) { return this.#told.manifest() }, enumerable: true }
  static readonly #DIGESTS = { get(this: Descriptor) { return this.#told.digests() }, enumerable: true }

  readonly id: string
  readonly version: string
  readonly layer: Layer
  readonly location: string
  declare readonly manifest: Manifest
  declare readonly digests: ExtensionDigests
  readonly integrity: IntegrityStatus
  declare readonly signer?: ExtensionSigner
  readonly code: ExtensionCode
  declare readonly server?: ConnectedServer
  readonly #told: Told

  constructor(
    { outline: { id, version }, layer, location, told, integrity, signer }: Vouched, code: ExtensionCode, server: ConnectedServer | undefined,
  ) {
    this.id = id
    this.version = version
    this.layer = layer
    this.location = location
    Object.defineProperty(this, 'manifest', Descriptor.#MANIFEST)
    Object.defineProperty(this, 'digests', Descriptor.#DIGESTS)
    this.integrity = integrity
    if (signer !== undefined) this.signer = signer
    this.code = code
    if (server !== undefined) this.server = server
    this.#told = told
    Object.freeze(this)
  }
}

/** Keeps nothing of the package but how to get at its digests. */
const filesOf = (
  id: string, location: string, digests: () => ReadonlyMap<string, string>, limits: LoaderLimits,
): ExtensionCode => ({ kind: 'files', readFiles: () => readVerifiedFiles(id, location, coveredFiles(digests()), limits) })

/**
 * Reads a proven package again, when its code is needed. Bytes need not stay in memory until then: only bytes with the
 * digests that were proven are ever returned. Rejects with IntegrityFailed, which names the first file that differs.
 */
export async function readVerifiedFiles(
  id: string, folder: string, proven: ReadonlyMap<string, string>, limits: LoaderLimits,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = await readPackage(folder, limits, new Pace(), isCovered)
  if (!read.ok) throw failed(id, read.faults[0]!.message, [])
  const differences = packageDifferences(proven, coveredFiles(read.value.digests))
  const [first, ...others] = differences
  if (first !== undefined) {
    const rest = others.length === 0 ? '' : `, and ${others.length} more differ`
    throw failed(id, `${differenceInWords(first)}${rest}.`, differences.slice(0, 100))
  }
  return read.value.bytes
}

function failed(id: string, what: string, differences: readonly PackageDifference[]): BulkheadError {
  const message = `The extension "${id}" is no longer what was loaded: ${what} Load again to accept the change.`
  return new BulkheadError('IntegrityFailed', message, {
    data: { extension: id, differences: differences.map(({ path, change }) => ({ path, change })) },
  })
}
