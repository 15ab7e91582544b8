import type {
  ConnectedServer, ExtensionCode, ExtensionDescriptor, ExtensionDigests, ExtensionSigner, IntegrityStatus, Layer, Manifest,
} from '@bulkhead/contract'
import type { Terms, Vouched } from './extension.ts'
import { coveredFiles } from '../files/integrity-file.ts'
import { readVerifiedFiles } from '../files/verified-files.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Told } from '../told.ts'

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
