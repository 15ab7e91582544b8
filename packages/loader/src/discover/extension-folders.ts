import { lstatSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { EXTENSION_ID_PATTERN, type Layer } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { findNameFault, listFolder } from '../files/read-package.ts'
import { INSTALLED_FOLDER, installedFolder, installedPart, isInstalled, type LayerLock } from '../lock/lock-file.ts'
import type { Fault } from '../model/result.ts'

/** The folder of extensions below the root of a layer. */
export const TOOLS_FOLDER = 'tools'

/**
 * A folder that may contain an extension. Not opened yet. Bundled modules and servers have a name in place of a folder.
 */
export interface ExtensionCandidate {
  readonly layer: Layer
  readonly location: string
  /** The path inside the layer, such as tools/weather. */
  readonly part: string
  /** Set if it is known before the manifest is read. */
  readonly id?: string
}

export interface Discovery {
  readonly found: readonly ExtensionCandidate[]
  /** Entries that are not usable folders. */
  readonly refused: readonly { readonly candidate: ExtensionCandidate; readonly fault: Fault }[]
  /** Why the layer could not be searched. */
  readonly faults: readonly Fault[]
}

/**
 * The extension folders of a layer in byte order: the folders directly below `tools`. Files, and folders that start with
 * a dot or an underscore, are ignored. Links are refused, because they could lead out of the trusted content.
 */
export function discover(layer: Layer, root: string, maxExtensions: number): Discovery {
  const tools = join(root, TOOLS_FOLDER)
  const without = (...faults: Fault[]): Discovery => ({ found: [], refused: [], faults })
  const fault = findFolderFault(tools)
  // Optional for users and projects. The bundled folder was configured, so it must exist.
  if (fault === 'missing') return layer === 'bundled' ? without(missing(tools)) : without()
  if (fault !== undefined) return without(unusable(tools, `The tools folder of the ${layer} layer ${fault}.`))
  const listing = listFolder(tools, maxExtensions)
  if (!listing.ok) return without(unusable(tools, `The tools folder of the ${layer} layer ${listing.message}.`))

  const found: ExtensionCandidate[] = []
  const refused: Discovery['refused'][number][] = []
  for (const { name, kind } of listing.entries) {
    const candidate: ExtensionCandidate = { layer, location: `${tools}${sep}${name}`, part: `${TOOLS_FOLDER}/${name}` }
    const nameFault = kind === 'folder' ? findNameFault(name) : undefined
    const refuse = (what: string, cure: string) =>
      refused.push({ candidate, fault: unusable(candidate.location, `"${visibleText(name)}" ${what}.`, cure) })
    if (kind === 'link') refuse('is a link', 'Replace the link with the folder.')
    else if (nameFault !== undefined) refuse(nameFault, 'Rename the folder.')
    else if (kind === 'folder' && !/^[._]/.test(name)) found.push(candidate)
  }
  return { found, refused, faults: [] }
}

/** `missing`, or why it is not a usable folder. Continues a sentence. */
export function findFolderFault(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return 'missing'
    return stat.isDirectory() ? undefined : stat.isSymbolicLink() ? 'is a link' : 'is not a folder'
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
}

const missing = (location: string): Fault => ({
  stage: 'locate', code: 'ExtensionNotFound', path: '', location,
  message: 'The tools folder of the bundled layer does not exist.',
  cure: `Set the root to the folder that contains "${TOOLS_FOLDER}".`,
})

const unusable = (location: string, message: string, cure?: string): Fault =>
  ({ stage: 'locate', code: 'PackageUnsafe', path: '', location, message, ...(cure !== undefined && { cure }) })

/** The installed packages in the lock. Other folders are left over from earlier versions and ignored. */
export function discoverInstalled(layer: Layer, root: string, lock: LayerLock): Discovery {
  if (lock.kind === 'unreadable') return { found: [], refused: [], faults: [lock.fault] }
  if (lock.kind !== 'read') return { found: [], refused: [], faults: [] }
  const isThere = entryKind(join(root, INSTALLED_FOLDER)) === 'folder'
  const found: ExtensionCandidate[] = []
  const refused: Discovery['refused'][number][] = []
  for (const [id, entry] of lock.entries) {
    if (!isInstalled(entry)) continue
    const location = installedFolder(root, id, entry.root)
    const candidate: ExtensionCandidate = { layer, location, part: installedPart(id, entry.root), id }
    const stat = isThere ? entryKind(candidate.location) : 'nothing'
    if (stat === 'folder') found.push(candidate)
    else {
      const what = stat === 'nothing' ? 'is missing' : 'is not a folder'
      const message = `"${id}" ${entry.version} was accepted, and its folder ${what}.`
      refused.push({ candidate, fault: { stage: 'lock', code: 'LockMismatch', path: '', message } })
    }
  }
  return { found, refused, faults: [] }
}

function entryKind(path: string): 'folder' | 'nothing' | 'other' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? 'nothing' : stat.isDirectory() ? 'folder' : 'other'
  } catch {
    return 'nothing'
  }
}

const asId = (value: unknown): string | null =>
  typeof value === 'string' && EXTENSION_ID_PATTERN.test(value) ? value : null

/** The id in a manifest that may be invalid otherwise. */
export const idOfManifest = (manifest: unknown): string | null => isJsonObject(manifest) ? asId(manifest['id']) : null

/** Folders usually have the name of their extension: the best guess if no manifest can be read. */
export const idOfFolder = ({ location, id }: ExtensionCandidate): string | null => id ?? asId(basename(location))
