import {
  BulkheadError, type ConnectedServer, type ExtensionCode, type ExtensionDescriptor, type ExtensionDigests, type ExtensionSigner,
  type IntegrityStatus, type Layer, type Manifest,
} from '@bulkhead/contract'
import { coveredFiles, differenceInWords, isCovered, packageDifferences, type PackageDifference } from '../files/integrity.ts'
import { readPackage } from '../files/read-package.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Yielder } from '../model/yielder.ts'
import type { Checked, ManifestInfo } from './extension.ts'

/** The descriptor of an extension that passed all stages. Its code is read again when it is needed. */
export function describe(checked: Checked, limits: LoaderLimits): ExtensionDescriptor {
  const { outline: { id }, location, origin } = checked
  const server = origin.kind === 'module' ? origin.connection?.server : undefined
  const code: ExtensionCode = origin.kind === 'module'
    ? { kind: 'module', module: origin.module } : filesOf(id, location, origin.evidence.fileDigests, limits)
  return new Descriptor(checked, Object.freeze(code), server)
}

/** `manifest` and `digests` are computed on first use, and still own enumerable members, so the object can be copied as plain data. */
class Descriptor implements ExtensionDescriptor {
  static readonly #MANIFEST = { get(this: Descriptor) { return this.#info.manifest() }, enumerable: true }
  static readonly #DIGESTS = { get(this: Descriptor) { return this.#info.digests() }, enumerable: true }

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
  readonly #info: ManifestInfo

  constructor(
    { outline: { id, version }, layer, location, info, integrity, signer }: Checked, code: ExtensionCode, server: ConnectedServer | undefined,
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
    this.#info = info
    Object.freeze(this)
  }
}

/** A function of its own, so that the closure captures the digests and not the bytes of the package. */
const filesOf = (
  id: string, location: string, digests: () => ReadonlyMap<string, string>, limits: LoaderLimits,
): ExtensionCode => ({ kind: 'files', readFiles: () => readVerifiedFiles(id, location, coveredFiles(digests()), limits) })

/**
 * Reads a proven package again when its code is needed, so its bytes need not stay in memory. Returns only bytes with the proven
 * digests. Rejects with IntegrityFailed, which names the first file that differs.
 */
export async function readVerifiedFiles(
  id: string, folder: string, proven: ReadonlyMap<string, string>, limits: LoaderLimits,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = await readPackage(folder, limits, new Yielder(), isCovered)
  if (!read.ok) throw changed(id, read.faults[0]!.message, [])
  const differences = packageDifferences(proven, coveredFiles(read.value.digests))
  const [first, ...others] = differences
  if (first !== undefined) {
    const rest = others.length === 0 ? '' : `, and ${others.length} more differ`
    throw changed(id, `${differenceInWords(first)}${rest}.`, differences.slice(0, 100))
  }
  return read.value.bytes
}

function changed(id: string, what: string, differences: readonly PackageDifference[]): BulkheadError {
  const message = `The extension "${id}" has changed since it was loaded: ${what} Load again to accept the change.`
  return new BulkheadError('IntegrityFailed', message, {
    data: { extension: id, differences: differences.map(({ path, change }) => ({ path, change })) },
  })
}
