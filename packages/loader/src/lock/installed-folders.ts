import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Layer, LockEntry } from '@bulkhead/contract'
import type { Discovery } from '../discover/extension-folders.ts'
import type { Located } from '../describe/extension.ts'
import type { LayerLock } from './layer-lock.ts'

/** Below the root of a layer: what was installed, each version in a folder of its own. */
export const INSTALLED_FOLDER = 'installed'

/**
 * Where an accepted package stands. The name follows from what was accepted, so that replacing the lock is what replaces a
 * package: the old folder and the new one are both there, and the lock says which counts. Nothing of it is a stranger's text.
 */
export const installedFolder = (root: string, id: string, packageRoot: string): string =>
  join(root, installedPart(id, packageRoot))

/** The same inside its layer. */
export const installedPart = (id: string, packageRoot: string): string => `${INSTALLED_FOLDER}/${id}-${packageRoot.slice(0, 32)}`

export const isInstalled = ({ source }: LockEntry): boolean => source !== 'in-place'

/** The installed packages that the lock names. Whatever else is in that folder is left over from before, and nobody's. */
export function discoverInstalled(layer: Layer, root: string, lock: LayerLock): Discovery {
  if (lock.kind === 'unreadable') return { found: [], refused: [], faults: [lock.fault] }
  if (lock.kind !== 'read') return { found: [], refused: [], faults: [] }
  const isThere = lookAt(join(root, INSTALLED_FOLDER)) === 'folder'
  const found: Located[] = []
  const refused: Discovery['refused'][number][] = []
  for (const [id, entry] of lock.entries) {
    if (!isInstalled(entry)) continue
    const location = installedFolder(root, id, entry.root)
    const located: Located = { layer, location, part: installedPart(id, entry.root), id }
    const stat = isThere ? lookAt(located.location) : 'nothing'
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

function lookAt(path: string): 'folder' | 'nothing' | 'other' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? 'nothing' : stat.isDirectory() ? 'folder' : 'other'
  } catch {
    return 'nothing'
  }
}
