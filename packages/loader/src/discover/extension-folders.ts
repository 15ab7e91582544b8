import { lstatSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { Layer } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Located } from '../describe/extension.ts'
import { listFolder } from '../files/list-folder.ts'
import { findNameFault } from '../files/portable-name.ts'
import type { Fault } from '../model/result.ts'

/** Below the root of a layer. */
export const TOOLS_FOLDER = 'tools'

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
