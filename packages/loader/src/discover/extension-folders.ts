import { lstatSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { EXTENSION_ID_PATTERN, type Layer } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { findNameFault, listFolder } from '../files/list-folder.ts'
import { INSTALLED_FOLDER, installedFolder, installedPart, isInstalled, type LayerLock } from '../lock/layer-lock.ts'
import type { Fault } from '../model/result.ts'

/** Below the root of a layer. */
export const TOOLS_FOLDER = 'tools'

/** A folder that may hold an extension. Nothing of it has been opened. */
export interface Located {
  readonly layer: Layer
  readonly location: string
  /** What it is called inside its layer, such as tools/weather. */
  readonly part: string
  /** Set where it is known before anything is read. */
  readonly id?: string
}

export interface Discovery {
  readonly found: readonly Located[]
  /** What stands where a folder should. */
  readonly refused: readonly { readonly located: Located; readonly fault: Fault }[]
  /** Why the layer could not be looked through. */
  readonly faults: readonly Fault[]
}

/**
 * The extension folders of a layer, in byte order: each folder directly below `tools`. Files are nobody's, and so are
 * folders whose name begins with a dot. A link is refused rather than followed: it could lead out of what was trusted.
 */
export function discover(layer: Layer, root: string, maxExtensions: number): Discovery {
  const tools = join(root, TOOLS_FOLDER)
  const without = (...faults: Fault[]): Discovery => ({ found: [], refused: [], faults })
  const fault = findFolderFault(tools)
  // A user or a project may have none; whoever ships with the host has named it.
  if (fault === 'missing') return layer === 'bundled' ? without(missing(tools)) : without()
  if (fault !== undefined) return without(unusable(tools, `The folder of the ${layer} layer's tools ${fault}.`))
  const listing = listFolder(tools, maxExtensions)
  if (!listing.ok) return without(unusable(tools, `The folder of the ${layer} layer's tools ${listing.message}.`))

  const found: Located[] = []
  const refused: Discovery['refused'][number][] = []
  for (const { name, kind } of listing.entries) {
    const located: Located = { layer, location: `${tools}${sep}${name}`, part: `${TOOLS_FOLDER}/${name}` }
    const nameFault = kind === 'folder' ? findNameFault(name) : undefined
    const refuse = (what: string, cure: string) =>
      refused.push({ located, fault: unusable(located.location, `"${visibleText(name)}" ${what}.`, cure) })
    if (kind === 'link') refuse('is a link', 'Put the folder itself there.')
    else if (nameFault !== undefined) refuse(nameFault, 'Rename the folder.')
    else if (kind === 'folder' && !name.startsWith('.')) found.push(located)
  }
  return { found, refused, faults: [] }
}

function findFolderFault(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return 'missing'
    return stat.isDirectory() ? undefined : stat.isSymbolicLink() ? 'is a link' : 'is not a folder'
  } catch (error) {
    return `cannot be looked at: ${messageOf(error)}`
  }
}

const missing = (location: string): Fault => ({
  stage: 'locate', code: 'ExtensionNotFound', path: '', location, message: 'The folder of the bundled layer\'s tools does not exist.',
  cure: `Name the folder that "${TOOLS_FOLDER}" lies in.`,
})

const unusable = (location: string, message: string, cure?: string): Fault =>
  ({ stage: 'locate', code: 'PackageUnsafe', path: '', location, message, ...(cure !== undefined && { cure }) })

/** The installed packages that the lock names. Whatever else is in that folder is left over from before, and nobody's. */
export function discoverInstalled(layer: Layer, root: string, lock: LayerLock): Discovery {
  if (lock.kind === 'unreadable') return { found: [], refused: [], faults: [lock.fault] }
  if (lock.kind !== 'read') return { found: [], refused: [], faults: [] }
  const isThere = entryKind(join(root, INSTALLED_FOLDER)) === 'folder'
  const found: Located[] = []
  const refused: Discovery['refused'][number][] = []
  for (const [id, entry] of lock.entries) {
    if (!isInstalled(entry)) continue
    const location = installedFolder(root, id, entry.root)
    const located: Located = { layer, location, part: installedPart(id, entry.root), id }
    const stat = isThere ? entryKind(located.location) : 'nothing'
    if (stat === 'folder') found.push(located)
    else refused.push({
      located,
      fault: {
        stage: 'lock', code: 'LockMismatch', path: '',
        message: `"${id}" ${entry.version} was accepted, and its folder ${stat === 'nothing' ? 'is not there' : 'is something else than a folder'}.`,
      },
    })
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

const asId = (value: unknown): string | null => typeof value === 'string' && EXTENSION_ID_PATTERN.test(value) ? value : null

/** The id that a manifest claims, also one that is wrong in everything else. */
export const idOfManifest = (manifest: unknown): string | null => isJsonObject(manifest) ? asId(manifest['id']) : null

/** Folders are named after their extension as a rule: the best guess while no manifest can be read. */
export const idOfFolder = ({ location, id }: Located): string | null => id ?? asId(basename(location))
