import { basename, dirname, join } from 'node:path'
import { BulkheadError, type ExtensionSigner } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { sha512 } from '../model/digest.ts'
import { boundOf, contentsOf, readPackage, type PackageContents } from '../files/read-package.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Pace } from '../model/yielder.ts'
import type { Registry, RegistryVersion } from './registry.ts'
import { verifyNpmAttestations } from '../signature/npm-attestations.ts'
import { readTarball } from '../files/read-tarball.ts'
import type { InstallSpec } from './install-spec.ts'

/** A package in memory, whole, that nobody has accepted yet. */
export interface Candidate {
  /** As the lock writes it. */
  readonly source: string
  /** For people: where it was read. */
  readonly location: string
  readonly contents: PackageContents
  /** Who built it, as the registry's attestations prove; null where there are none. */
  readonly attested: ExtensionSigner | null
  /** What an npm package of that version must say of itself. */
  readonly version: string | null
  readonly warnings: readonly string[]
}

export interface Sources {
  readonly limits: LoaderLimits
  /** Made when it is needed, since it may say that none is configured. */
  readonly registry: () => Registry
  readonly trustRoot: Json
  readonly npmKeys?: Json
}

/** Fetches or reads what is to be installed. Nothing is written and nothing is run. Rejects with what is wrong with it. */
export async function obtain(spec: InstallSpec, sources: Sources, layerRoot: string): Promise<Candidate> {
  const { limits } = sources
  // A tarball is smaller than what is in it; hostile ones need not be.
  const maxBytes = limits.packageBytes
  const local = { attested: null, version: null, warnings: [] }
  switch (spec.kind) {
    case 'folder': {
      const read = await readPackage(spec.path, limits, new Pace(), () => true)
      if (!read.ok) throw new BulkheadError(read.faults[0]!.code, `${visibleText(spec.path)}: ${read.faults[0]!.message}`)
      const inPlace = dirname(spec.path) === join(layerRoot, 'tools')
      return { ...local, source: inPlace ? 'in-place' : `folder:${nameOf(spec.path)}`, location: spec.path, contents: read.value }
    }
    case 'tarball': {
      const file = readRegularFile(spec.path, { maxBytes, followLinks: true })
      if (!file.ok) throw new BulkheadError('InstallSourceInvalid', `The file ${visibleText(spec.path)} ${file.message}.`)
      return { ...local, source: `tarball:${nameOf(spec.path)}`, location: spec.path, contents: await unpack(file.bytes, limits, spec.path) }
    }
    case 'npm': {
      const registry = sources.registry()
      const version = await registry.resolve(spec.name, spec.wanted)
      const location = `${version.name}@${version.version}`
      const bytes = await registry.tarball(version, maxBytes)
      const contents = await unpack(bytes, limits, location)
      const { attested, warnings } = await attest(version, bytes, registry, sources)
      const outworn = version.deprecated === null ? [] : [`Its publisher wants this version not to be used any more: ${version.deprecated}`]
      return { source: `npm:${location}`, location, contents, version: version.version, attested, warnings: [...outworn, ...warnings] }
    }
  }
}

/** The contents of a tarball. Rejects with PackageUnsafe. */
async function unpack(bytes: Uint8Array, limits: LoaderLimits, name: string): Promise<PackageContents> {
  const read = await readTarball(bytes, limits)
  if (!read.ok) throw unsafe(name, `The archive ${read.message}`)
  for (const [path, content] of read.files) {
    const bound = boundOf(path, limits)
    if (content.length > bound) throw unsafe(name, `The file "${visibleText(path)}" has ${content.length} bytes; ${bound} are allowed`)
  }
  return contentsOf(read.files)
}

async function attest(version: RegistryVersion, bytes: Uint8Array, registry: Registry, { trustRoot, npmKeys }: Sources) {
  if (version.attestations === null) return { attested: null, warnings: [] }
  let attestations: Json
  try {
    attestations = await registry.attestations(version.attestations)
  } catch (error) {
    // Who needs a signature will miss it later; who had one before will be told that it is gone.
    return { attested: null, warnings: [`The registry speaks of attestations that cannot be had: ${messageOf(error)}`] }
  }
  const verification = await verifyNpmAttestations({
    attestations, name: version.name, version: version.version,
    tarballSha512: sha512(bytes), trustRoot, ...(npmKeys !== undefined && { keys: npmKeys }),
  })
  if (!verification.ok) throw new BulkheadError(verification.code, `${verification.message} ${verification.cure}`, { data: { step: verification.step } })
  return { attested: verification.value.builder, warnings: [] }
}

const unsafe = (name: string, what: string) => new BulkheadError('PackageUnsafe', `${visibleText(name)}: ${what}.`)

/** A lock is shared: it says what the folder was called and not whose machine it was on. */
const nameOf = (path: string): string => visibleText(basename(path)).slice(0, 255)
