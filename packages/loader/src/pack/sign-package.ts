import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { resolveSettings, type LoaderOptions } from '../config/settings.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import { contentsOf } from '../files/read-package.ts'
import { writeTarball } from '../files/tar-format.ts'
import { obtainPackage, parseInstallSpec, provePackage } from '../install/obtain-package.ts'
import { sign, type Signing } from '../signature/sign.ts'

export interface SignedPackage {
  readonly extension: ExtensionDescriptor
  /** The text of the signature file. */
  readonly signature: string
  /** With the signature. */
  readonly tarball: Uint8Array
}

interface SignPackageOptions {
  /** The configuration is ignored. */
  readonly loader: LoaderOptions
  readonly signing: Signing
}

/**
 * Signs the integrity file of a package, which covers all files, and verifies the result as a host does. Rejects with
 * SigningFailed, or with the fault of the package.
 */
export async function signPackage(
  files: ReadonlyMap<string, Uint8Array>, location: string, { loader, signing }: SignPackageOptions,
): Promise<SignedPackage> {
  const integrityFile = files.get(INTEGRITY_FILE)
  if (integrityFile === undefined) {
    throw new BulkheadError('IntegrityTokenMissing', `${location} has no ${INTEGRITY_FILE}. Pack the extension first.`)
  }
  const signature = `${JSON.stringify(await sign({ file: integrityFile }, signing))}\n`
  const signed = new Map([...files, [SIGNATURE_FILE, Buffer.from(signature)]])
  const { extension } = await provePackage({
    source: 'in-place', location, contents: contentsOf(signed), attested: null, version: null, warnings: [],
  }, unconfigured(loader), 'global', null)
  return { extension, signature, tarball: await writeTarball(signed) }
}

/** Signs the package in a tarball. An earlier signature is replaced. Writes nothing. */
export async function signTarball(path: string, options: SignPackageOptions): Promise<SignedPackage> {
  const { limits, trustRoot } = unconfigured(options.loader)
  const registry = async () => {
    throw new BulkheadError('InstallSourceInvalid', `"${path}" is not a tarball.`)
  }
  const spec = parseInstallSpec(path, '/')
  const { contents: { bytes } } = await obtainPackage(spec, { limits, trustRoot: trustRoot.json, registry }, '')
  return signPackage(new Map([...bytes].filter(([name]) => name !== SIGNATURE_FILE)), path, options)
}

const unconfigured = (loader: LoaderOptions) =>
  resolveSettings({ ...loader, roots: { ...loader.roots, global: null, machine: null } })
