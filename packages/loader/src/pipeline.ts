import { MANIFEST_FILE, messageOf, type ExtensionDescriptor, type Manifest } from '@bulkhead/contract'
import { ownMember } from './config/own-member.ts'
import { describe } from './describe.ts'
import type { Located, Shaped, Terms, Vouched, Written } from './extension.ts'
import { idOfFolder, idOfManifest } from './extension-id.ts'
import { isCovered } from './files/integrity-file.ts'
import { readPackage, type PackageContents } from './files/read-package.ts'
import type { BundledExtension } from './options.ts'
import { next, type Fault, type StageResult } from './result.ts'
import { approvalKeys } from './stages/approval-keys.ts'
import { configured } from './stages/configured.ts'
import { contractVersion } from './stages/contract-version.ts'
import { integrity } from './stages/integrity.ts'
import { locked } from './stages/locked.ts'
import { mainFile } from './stages/main-file.ts'
import { manifestForm } from './stages/manifest-form.ts'
import { manifestText, manifestValue } from './stages/manifest-text.ts'
import { requiredCoreVersion } from './stages/required-core-version.ts'
import { requirements } from './stages/requirements.ts'
import { schemas } from './stages/schemas.ts'
import { signature } from './stages/signature.ts'
import { toolNames } from './stages/tool-names.ts'

/** What became of one extension before it is seen beside the others. */
export type Proof =
  | { readonly kind: 'proven'; readonly descriptor: ExtensionDescriptor; readonly warnings: readonly Fault[] }
  | { readonly kind: 'refused'; readonly id: string | null; readonly faults: readonly Fault[] }
  /** The configuration says no. Nothing is wrong with it as far as it was looked at. */
  | { readonly kind: 'disabled'; readonly manifest: Manifest }

const isMetadata = (path: string): boolean => path === MANIFEST_FILE || !isCovered(path)

export function proveFolder(located: Located, terms: Terms): Promise<Proof> {
  return guarded(located, async () => {
    const contents = await readPackage(located.location, terms.limits, terms.pace, isMetadata)
    const written = next(contents, (read) => manifestText(located, read))
    return written.ok ? prove(written.value, terms) : { kind: 'refused', id: idOfFolder(located), faults: written.faults }
  })
}

/** A package that is in memory and nowhere else yet. `located` says where it came from. */
export function proveContents(located: Located, contents: PackageContents, terms: Terms): Promise<Proof> {
  return guarded(located, async () => {
    const written = manifestText(located, contents)
    return written.ok ? prove(written.value, terms) : { kind: 'refused', id: idOfFolder(located), faults: written.faults }
  })
}

export function proveBundled({ manifest, module }: BundledExtension, located: Located, terms: Terms): Promise<Proof> {
  return guarded(located, async () => {
    const written = manifestValue(located, manifest, module)
    return written.ok ? prove(written.value, terms) : { kind: 'refused', id: idOfManifest(manifest), faults: written.faults }
  })
}

/** No stage throws. Should one do so all the same, one extension is lost and not all of them. */
async function guarded(located: Located, work: () => Promise<Proof>): Promise<Proof> {
  try {
    return await work()
  } catch (error) {
    const message = `Bulkhead itself failed while it looked at the extension: ${messageOf(error)}`
    return { kind: 'refused', id: idOfFolder(located), faults: [{ stage: 'read', code: 'InternalError', path: '', message }] }
  }
}

/** The stages in their order. The first that refuses ends it. */
async function prove(written: Written, terms: Terms): Promise<Proof> {
  const shaped = shape(written)
  if (!shaped.ok) return { kind: 'refused', id: idOfManifest(written.json) ?? idOfFolder(written), faults: shaped.faults }
  const { manifest } = shaped.value
  if (ownMember(terms.config.merged.extensions, manifest.id)?.enabled === false) return { kind: 'disabled', manifest }

  const vouched = await vouch(shaped.value, terms)
  if (!vouched.ok) return { kind: 'refused', id: manifest.id, faults: vouched.faults }
  const accepted = next(vouched, (value) => locked(describe(value, terms), terms))
  if (!accepted.ok) return { kind: 'refused', id: manifest.id, faults: accepted.faults }
  return { kind: 'proven', descriptor: accepted.value, warnings: accepted.warnings }
}

function shape(written: Written): StageResult<Shaped> {
  const formed = manifestForm(written)
  const named = next(formed, toolNames)
  const bounded = next(named, requirements)
  const keyed = next(bounded, approvalKeys)
  return next(keyed, mainFile)
}

async function vouch(shaped: Shaped, terms: Terms): Promise<StageResult<Vouched>> {
  const spoken = contractVersion(shaped)
  const hosted = next(spoken, (value) => requiredCoreVersion(value, terms))
  const compiled = hosted.ok ? await schemas(hosted.value, terms) : hosted
  const settled = next(compiled, (value) => configured(value, terms))
  const intact = next(settled, (value) => integrity(value, terms))
  const signed = intact.ok ? await signature(intact.value, terms) : intact
  return next(intact, () => signed)
}
