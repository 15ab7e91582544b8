import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, visibleText, type Layer } from '@bulkhead/contract'
import type { Located } from './extension.ts'
import { listFolder } from './files/folder-entries.ts'
import { findNameFault } from './files/portable-name.ts'
import type { Fault } from './result.ts'

/** Below the root of a layer. */
const TOOLS_FOLDER = 'tools'

export interface Discovery {
  readonly found: readonly Located[]
  readonly faults: readonly Fault[]
}

/**
 * The extension folders of a layer, in byte order: each folder directly below `tools`. Files are nobody's, and so are
 * folders whose name begins with a dot. A link is refused rather than followed: it could lead out of what was trusted.
 */
export function discover(layer: Layer, root: string, maxExtensions: number): Discovery {
  const tools = join(root, TOOLS_FOLDER)
  const fault = findFolderFault(tools)
  if (fault === 'missing') return { found: [], faults: [] }
  if (fault !== undefined) return { found: [], faults: [unusable(tools, `The folder of the ${layer} layer's tools ${fault}.`)] }
  const listing = listFolder(tools, maxExtensions)
  if (!listing.ok) return { found: [], faults: [unusable(tools, `The folder of the ${layer} layer's tools ${listing.message}.`)] }

  const found: Located[] = []
  const faults: Fault[] = []
  for (const { name, kind } of listing.entries) {
    const location = join(tools, name)
    const nameFault = kind === 'folder' ? findNameFault(name) : undefined
    if (kind === 'link') faults.push(unusable(location, `"${visibleText(name)}" is a link.`, 'Put the folder itself there.'))
    else if (nameFault !== undefined) faults.push(unusable(location, `The folder "${visibleText(name)}" ${nameFault}.`, 'Rename the folder.'))
    else if (kind === 'folder' && !name.startsWith('.')) found.push({ layer, location })
  }
  return { found, faults }
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

const unusable = (location: string, message: string, cure?: string): Fault =>
  ({ stage: 'locate', code: 'PackageUnsafe', path: '', location, message, ...(cure !== undefined && { cure }) })
