import { MANIFEST_FILE, type ConnectedExtension, type ExtensionDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson } from '@bulkhead/kit/json'
import { detailsOf, knownOf, recall, recallGiven, type Remembered } from '../cache/cached-extension.ts'
import type { PackageIndex } from '../cache/package-index.ts'
import type { BundledExtension } from '../config/settings.ts'
import { describe } from '../describe/descriptor.ts'
import {
  always, type Compiled, type ManifestPlace, type Outline, type Shaped, type Told, type Vouched, type Written,
} from '../describe/extension.ts'
import { idOfFolder, idOfManifest, type Located } from '../discover/extension-folders.ts'
import { isCovered, SIGNATURE_FILE } from '../files/integrity.ts'
import { readPackage, type PackageContents } from '../files/read-package.ts'
import { sha512 } from '../model/digest.ts'
import { ownMember } from '../model/plain-data.ts'
import {
  next, nextWhenever, whenever, type Eventually, type Fault, type Passed, type StageResult,
} from '../model/result.ts'
import { configurable, configured } from './check-config.ts'
import {
  approvalKeys, contractVersion, mainFile, requiredCoreVersion, requirements, toolNames,
} from './check-manifest.ts'
import { integrity, locked, signature } from './check-package.ts'
import { schemas } from './check-schemas.ts'
import { texts } from './check-texts.ts'
import type { Terms } from './package-policy.ts'
import { manifestForm, manifestText, manifestValue, OWN_FILE, PACKAGE_FILE } from './read-manifest.ts'

export interface Proven {
  readonly kind: 'proven'
  readonly descriptor: ExtensionDescriptor
  readonly outline: Outline
  readonly manifestAt: ManifestPlace
  readonly warnings: readonly Fault[]
}

/** What became of one extension before it is seen beside the others. */
export type Proof =
  | Proven
  | { readonly kind: 'refused'; readonly id: string | null; readonly faults: readonly Fault[] }
  /** The configuration says no. Nothing is wrong with it as far as it was looked at. */
  | { readonly kind: 'disabled'; readonly id: string; readonly told: Pick<Told, 'manifest'> }

/** `digests` are of every file that was read, and null where the folder could not be read whole. */
export interface FolderProof {
  readonly proof: Proof
  readonly digests: (() => ReadonlyMap<string, string>) | null
}

export const isMetadata = (path: string): boolean => path === MANIFEST_FILE || path === PACKAGE_FILE || !isCovered(path)

/** `remembered`: what the index has of the folder, where it has not changed. */
export function proveFolder(
  located: Located, remembered: Remembered | undefined, terms: Terms, index: PackageIndex,
): Eventually<FolderProof> {
  if (remembered === undefined) return readAndProve(located, terms, index)
  const proof = guarded(located, () => admit(recall(located, remembered), terms))
  return whenever(proof, (settled) => ({ proof: settled, digests: remembered.fileDigests }))
}

async function readAndProve(located: Located, terms: Terms, index: PackageIndex): Promise<FolderProof> {
  const readAt = Date.now()
  let digests: FolderProof['digests'] = null
  const proof = await guarded(located, async () => {
    const contents = await readPackage(located.location, terms.limits, terms.pace, isMetadata)
    if (!contents.ok) return { kind: 'refused', id: idOfFolder(located), faults: contents.faults }
    const read = contents.value
    digests = () => read.digests
    return prove(manifestText(located, read), located, terms, (vouched, { digests: taken }, warnings) => {
      // A signature that nobody looked at is nothing to remember.
      if (read.digests.has(SIGNATURE_FILE) && vouched.signer === undefined) return
      index.keep(located.location, read, knownOf(vouched, taken, warnings), detailsOf(vouched, taken), readAt)
    })
  })
  return { proof, digests }
}

/** A package that is in memory and nowhere else yet. `located` says where it came from. */
export const proveContents = (located: Located, contents: PackageContents, terms: Terms): Eventually<Proof> =>
  guarded(located, () => prove(manifestText(located, contents), located, terms, undefined, configurable))

export function proveBundled(
  { manifest, module }: BundledExtension, located: Located, terms: Terms, index: PackageIndex,
): Eventually<Proof> {
  return guarded(located, () => {
    const written = manifestValue(located, manifest, module)
    if (!written.ok) return { kind: 'refused', id: idOfManifest(manifest), faults: written.faults }
    const digest = sha512(canonicalJson(written.value.json))
    const found = index.findGiven(located.location, digest)
    if (found !== undefined) return admit(recallGiven(written.value, found), terms)
    return prove(written, located, terms, (vouched, { digests }, warnings) =>
      index.keepGiven(located.location, digest, knownOf(vouched, digests, warnings), detailsOf(vouched, digests)))
  })
}

/**
 * A module of ours that carries calls to a server. What the server runs is not here to be vouched for, so no integrity, signature
 * or lock is asked of it; what it says of its tools is a stranger's word like any other.
 */
export function proveConnected(connected: ConnectedExtension, located: Located, terms: Terms): Eventually<Proof> {
  const { manifest, server, identity, definitions } = connected
  return guarded(located, async () => {
    const carrier = connected.module(manifest.tools.map(({ name }) => name))
    const shaped = next(manifestValue(located, manifest, carrier, { server, identity, definitions }), shape)
    if (!shaped.ok) return { kind: 'refused', id: manifest.id, faults: shaped.faults }
    if (isDisabled(manifest.id, terms)) return { kind: 'disabled', id: manifest.id, told: { manifest: always(shaped.value.manifest) } }
    const compiled = await nextWhenever(shaped, (value) => compile(value, terms))
    const settled = await nextWhenever(compiled, (value) => configured(value, terms))
    if (!settled.ok) return { kind: 'refused', id: manifest.id, faults: settled.faults }
    const { outline, manifestAt } = settled.value
    const descriptor = describe({ ...settled.value, integrity: 'unpinned' }, terms)
    return { kind: 'proven', descriptor, outline, manifestAt, warnings: settled.warnings }
  })
}

/** No stage throws. Should one do so all the same, one extension is lost and not all of them. */
function guarded(located: Located, work: () => Eventually<Proof>): Eventually<Proof> {
  try {
    const proof = work()
    return proof instanceof Promise ? proof.catch((error: unknown) => failed(located, error)) : proof
  } catch (error) {
    return failed(located, error)
  }
}

function failed(located: Located, error: unknown): Proof {
  const message = `Bulkhead itself failed while it looked at the extension: ${messageOf(error)}`
  return { kind: 'refused', id: idOfFolder(located), faults: [{ stage: 'read', code: 'InternalError', path: '', message }] }
}

type Remember = (vouched: Vouched, descriptor: ExtensionDescriptor, warnings: readonly Fault[]) => void

/** The stages in their order. The first that refuses ends it. */
async function prove(written: StageResult<Written>, located: Located, terms: Terms, remember?: Remember, configuring = configured): Promise<Proof> {
  if (!written.ok) return { kind: 'refused', id: idOfFolder(located), faults: written.faults }
  const { json, manifestAt } = written.value
  const shaped = next(written, shape)
  if (!shaped.ok) return { kind: 'refused', id: idOfManifest(json) ?? idOfFolder(located), faults: placed(shaped.faults, manifestAt) }
  const { manifest } = shaped.value
  if (isDisabled(manifest.id, terms)) return { kind: 'disabled', id: manifest.id, told: { manifest: always(manifest) } }
  const compiled = await nextWhenever(shaped, (value) => compile(value, terms))
  if (!compiled.ok) return { kind: 'refused', id: manifest.id, faults: placed(compiled.faults, manifestAt) }
  return admit(compiled, terms, remember, configuring)
}

function shape(written: Written): StageResult<Shaped> {
  const formed = manifestForm(written)
  const told = next(formed, texts)
  const named = next(told, toolNames)
  const bounded = next(named, requirements)
  const keyed = next(bounded, approvalKeys)
  return next(keyed, mainFile)
}

function compile(shaped: Shaped, terms: Terms): Eventually<StageResult<Compiled>> {
  const spoken = contractVersion(shaped)
  const hosted = next(spoken, (value) => requiredCoreVersion(value, terms))
  return nextWhenever(hosted, (value) => schemas(value, terms))
}

/** What the configuration has to say, which may be different every time. */
function admit(compiled: Passed<Compiled>, terms: Terms, remember?: Remember, configuring = configured): Eventually<Proof> {
  const { outline: { id }, told } = compiled.value
  if (isDisabled(id, terms)) return { kind: 'disabled', id, told }
  return whenever(nextWhenever(compiled, (value) => configuring(value, terms)), (settled) => {
    const intact = next(settled, (value) => integrity(value, terms))
    return whenever(nextWhenever(intact, (value) => signature(value, terms)), (vouched) => conclude(vouched, compiled, terms, remember))
  })
}

function conclude(
  vouched: StageResult<Vouched>, { value: { outline, manifestAt }, warnings }: Passed<Compiled>, terms: Terms, remember: Remember | undefined,
): Proof {
  const { id } = outline
  if (!vouched.ok) return { kind: 'refused', id, faults: placed(vouched.faults, manifestAt) }
  const accepted = next(vouched, (value) => locked(value, terms))
  if (!accepted.ok) return { kind: 'refused', id, faults: accepted.faults }
  const descriptor = describe(accepted.value, terms)
  remember?.(vouched.value, descriptor, warnings)
  return { kind: 'proven', descriptor, outline, manifestAt, warnings: placed(accepted.warnings, manifestAt) }
}

const isDisabled = (id: string, { config }: Terms): boolean => ownMember(config.merged.extensions, id)?.enabled === false

/** A stage knows the manifest and not where it stands. */
export const placed = (faults: readonly Fault[], { file, pointer }: ManifestPlace): readonly Fault[] =>
  pointer === OWN_FILE.pointer ? faults : faults.map((fault) =>
    fault.path === '' || fault.file !== undefined || fault.location !== undefined
      ? fault : { ...fault, file, path: pointer + fault.path })
