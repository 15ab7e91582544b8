import { MANIFEST_FILE, type ConnectedExtension, type ExtensionDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson } from '@bulkhead/kit/json'
import {
  bundledFromCache, detailsOf, folderFromCache, summaryOf, type CachedExtension,
} from '../cache/cached-extension.ts'
import type { PackageIndex } from '../cache/package-index.ts'
import type { BundledExtension } from '../config/settings.ts'
import {
  describe, constant, type Checked, type Compiled, type ManifestInfo, type ManifestPlace, type Outline, type Shaped,
  type Written, type ProofContext,
} from '../describe/extension.ts'
import { idOfFolder, idOfManifest, type ExtensionCandidate } from '../discover/extension-folders.ts'
import { isCovered, SIGNATURE_FILE } from '../files/integrity.ts'
import { readPackage, type PackageContents } from '../files/read-package.ts'
import { sha512 } from '../model/digest.ts'
import { ownMember } from '../config/resolve-config.ts'
import { next, nextAsync, type Fault, type Passed, type StageResult } from '../model/result.ts'
import { checkConfig, warnAboutMissingConfig, checkSchemas } from './check-schemas.ts'
import {
  checkApprovalKeys, checkContractVersion, checkCoreVersion, checkMainFile, checkToolNames, checkToolRequirements,
  checkShape, OWN_FILE, PACKAGE_FILE, readManifest, readManifestValue,
} from './check-manifest.ts'
import { checkIntegrity, checkLock, checkSignature } from './check-package.ts'
import { checkTexts } from './check-texts.ts'

/** The result for one extension, before it is compared with others. */
export type Proof =
  | Proven
  | { readonly kind: 'refused'; readonly id: string | null; readonly faults: readonly Fault[] }
  /** Disabled by the configuration. The stages up to that point found no fault. */
  | { readonly kind: 'disabled'; readonly id: string; readonly info: Pick<ManifestInfo, 'manifest'> }

export interface Proven {
  readonly kind: 'proven'
  readonly descriptor: ExtensionDescriptor
  readonly outline: Outline
  readonly manifestAt: ManifestPlace
  readonly warnings: readonly Fault[]
}

/** `digests` cover all files that were read; null when the folder could not be read. */
export interface FolderProof {
  readonly proof: Proof
  readonly digests: (() => ReadonlyMap<string, string>) | null
}

export const isMetadata = (path: string): boolean => path === MANIFEST_FILE || path === PACKAGE_FILE || !isCovered(path)

/** `cached` is the entry of the index for this folder, if the folder has not changed. */
export async function proveFolder(
  candidate: ExtensionCandidate, cached: CachedExtension | undefined, context: ProofContext, index: PackageIndex,
): Promise<FolderProof> {
  if (cached === undefined) return readAndProve(candidate, context, index)
  return {
    proof: await guarded(candidate, () => checkPolicy(folderFromCache(candidate, cached), context)),
    digests: cached.fileDigests,
  }
}

async function readAndProve(
  candidate: ExtensionCandidate, context: ProofContext, index: PackageIndex,
): Promise<FolderProof> {
  const readAt = Date.now()
  let digests: FolderProof['digests'] = null
  const proof = await guarded(candidate, async () => {
    const contents = await readPackage(candidate.location, context.limits, context.yielder, isMetadata)
    if (!contents.ok) return { kind: 'refused', id: idOfFolder(candidate), faults: contents.faults }
    const read = contents.value
    digests = () => read.digests
    return prove(readManifest(candidate, read), candidate, context, (checked, { digests: taken }, warnings) => {
      // A signature that was not checked must not be cached.
      if (read.digests.has(SIGNATURE_FILE) && checked.signer === undefined) return
      index.keep(candidate.location, read, summaryOf(checked, taken, warnings), detailsOf(checked, taken), readAt)
    })
  })
  return { proof, digests }
}

/** Proves a package that is only in memory. `candidate` names its source. */
export const proveContents = (
  candidate: ExtensionCandidate, contents: PackageContents, context: ProofContext,
): Promise<Proof> =>
  guarded(
    candidate, () => prove(readManifest(candidate, contents), candidate, context, undefined, warnAboutMissingConfig),
  )

export function proveBundled(
  { manifest, module }: BundledExtension, candidate: ExtensionCandidate, context: ProofContext, index: PackageIndex,
): Promise<Proof> {
  return guarded(candidate, async () => {
    const written = readManifestValue(candidate, manifest, module)
    if (!written.ok) return { kind: 'refused', id: idOfManifest(manifest), faults: written.faults }
    const digest = sha512(canonicalJson(written.value.json))
    const cached = index.findBundled(candidate.location, digest)
    if (cached !== undefined) return checkPolicy(bundledFromCache(written.value, cached), context)
    return prove(written, candidate, context, (checked, { digests }, warnings) =>
      index.keepBundled(candidate.location, digest, summaryOf(checked, digests, warnings), detailsOf(checked, digests)))
  })
}

/** Proves an extension that is part of the program, without a cache. */
export const proveModule = (
  { manifest, module }: BundledExtension, candidate: ExtensionCandidate, context: ProofContext,
): Promise<Proof> =>
  guarded(candidate, () => prove(readManifestValue(candidate, manifest, module), candidate, context))

/**
 * Proves a module that forwards calls to a server. The code of the server is elsewhere, so integrity, signature and
 * lock do not apply. Its tool definitions are untrusted input like any other.
 */
export function proveConnected(
  connected: ConnectedExtension, candidate: ExtensionCandidate, context: ProofContext,
): Promise<Proof> {
  const { manifest, server, identity, definitions, pinned } = connected
  return guarded(candidate, async () => {
    const module = connected.module(manifest.tools.map(({ name }) => name))
    const shaped = next(readManifestValue(candidate, manifest, module, { server, identity, definitions }), shape)
    if (!shaped.ok) return { kind: 'refused', id: manifest.id, faults: shaped.faults }
    if (isDisabled(manifest.id, context)) {
      return { kind: 'disabled', id: manifest.id, info: { manifest: constant(shaped.value.manifest) } }
    }
    const compiled = await nextAsync(shaped, (value) => compile(value, context))
    const configured = await nextAsync(compiled, (value) => checkConfig(value, context))
    if (!configured.ok) return { kind: 'refused', id: manifest.id, faults: configured.faults }
    const { outline, manifestAt } = configured.value
    const descriptor = describe({ ...configured.value, integrity: pinned ? 'pinned' : 'unpinned' }, context.limits)
    return { kind: 'proven', descriptor, outline, manifestAt, warnings: configured.warnings }
  })
}

/** Stages do not throw. If one does anyway, only this extension is lost. */
async function guarded(candidate: ExtensionCandidate, work: () => Promise<Proof>): Promise<Proof> {
  try {
    return await work()
  } catch (error) {
    const message = `Bulkhead failed while it checked the extension: ${messageOf(error)}`
    return {
      kind: 'refused', id: idOfFolder(candidate), faults: [{ stage: 'read', code: 'InternalError', path: '', message }],
    }
  }
}

type OnChecked = (checked: Checked, descriptor: ExtensionDescriptor, warnings: readonly Fault[]) => void

/** The stages in order. The first refusal ends the list. */
async function prove(
  written: StageResult<Written>, candidate: ExtensionCandidate, context: ProofContext, onChecked?: OnChecked,
  checkConfiguration = checkConfig,
): Promise<Proof> {
  if (!written.ok) return { kind: 'refused', id: idOfFolder(candidate), faults: written.faults }
  const { json, manifestAt } = written.value
  const shaped = next(written, shape)
  if (!shaped.ok) {
    return {
      kind: 'refused', id: idOfManifest(json) ?? idOfFolder(candidate), faults: placed(shaped.faults, manifestAt),
    }
  }
  const { manifest } = shaped.value
  if (isDisabled(manifest.id, context)) {
    return { kind: 'disabled', id: manifest.id, info: { manifest: constant(manifest) } }
  }
  const compiled = await nextAsync(shaped, (value) => compile(value, context))
  if (!compiled.ok) return { kind: 'refused', id: manifest.id, faults: placed(compiled.faults, manifestAt) }
  return checkPolicy(compiled, context, onChecked, checkConfiguration)
}

/** Whether the manifest is well formed. */
function shape(written: Written): StageResult<Shaped> {
  const formed = checkShape(written)
  const readable = next(formed, checkTexts)
  const named = next(readable, checkToolNames)
  const required = next(named, checkToolRequirements)
  const keyed = next(required, checkApprovalKeys)
  return next(keyed, checkMainFile)
}

/** Whether this host can run it. */
function compile(shaped: Shaped, context: ProofContext): Promise<StageResult<Compiled>> {
  const supported = next(checkContractVersion(shaped), (value) => checkCoreVersion(value, context))
  return nextAsync(supported, (value) => checkSchemas(value, context))
}

/** Whether the configuration allows it. This part runs on each load; the rest is cached. */
async function checkPolicy(
  compiled: Passed<Compiled>, context: ProofContext, onChecked?: OnChecked, checkConfiguration = checkConfig,
): Promise<Proof> {
  const { outline, info, manifestAt } = compiled.value
  const { id } = outline
  if (isDisabled(id, context)) return { kind: 'disabled', id, info }
  const configured = await nextAsync(compiled, (value) => checkConfiguration(value, context))
  const intact = next(configured, (value) => checkIntegrity(value, context))
  const checked = await nextAsync(intact, (value) => checkSignature(value, context))
  if (!checked.ok) return { kind: 'refused', id, faults: placed(checked.faults, manifestAt) }
  const accepted = next(checked, (value) => checkLock(value, context))
  if (!accepted.ok) return { kind: 'refused', id, faults: accepted.faults }
  const descriptor = describe(accepted.value, context.limits)
  onChecked?.(checked.value, descriptor, compiled.warnings)
  return { kind: 'proven', descriptor, outline, manifestAt, warnings: placed(accepted.warnings, manifestAt) }
}

const isDisabled = (id: string, { config }: ProofContext): boolean =>
  ownMember(config.merged.extensions, id)?.enabled === false

/** A stage does not know which file holds the manifest. */
export const placed = (faults: readonly Fault[], { file, pointer }: ManifestPlace): readonly Fault[] =>
  pointer === OWN_FILE.pointer ? faults : faults.map((fault) =>
    fault.path === '' || fault.file !== undefined || fault.location !== undefined
      ? fault : { ...fault, file, path: pointer + fault.path })
