import { isResourceShortage } from '../process/resources.ts'
import type { Disk } from './disk.ts'
import type { PathModel } from './paths.ts'
import { joinNames, parentOf } from './paths.ts'

/** Which different texts a file system takes for one name. */
export interface NameFolding {
  readonly case: boolean
  /** Characters composed or taken apart. */
  readonly normal: boolean
}

export const EXACT: NameFolding = { case: false, normal: false }

/**
 * One spelling for all that are one name. Only letters with one counterpart are folded, each file system having its own
 * idea of the others: two names that are told apart here but not there are refused, never the other way round.
 */
export function foldNames(path: string, folding: NameFolding): string {
  const normal = folding.normal ? path.normalize('NFC') : path
  return folding.case ? Array.from(normal, foldLetter).join('') : normal
}

function foldLetter(letter: string): string {
  const lower = letter.toLowerCase()
  return lower.toUpperCase() === letter ? lower : letter
}

/** The same text with its letters in the other case; undefined when it has none that fold. */
function otherCase(name: string): string | undefined {
  const other = Array.from(name, (letter) => {
    const lower = foldLetter(letter)
    if (lower !== letter) return lower
    const upper = letter.toUpperCase()
    return foldLetter(upper) === letter ? upper : letter
  }).join('')
  return other === name ? undefined : other
}

/**
 * Asks the file system how it folds at a folder, by looking a name up in the other case: of something in it or, when it has
 * nothing with a letter, its own. Nothing is written. On macOS every file system folds composed characters.
 */
export async function probeFolding(
  folder: string, disk: Disk, paths: PathModel, platform: NodeJS.Platform,
): Promise<NameFolding> {
  const folding = { case: await foldsCase(folder, disk, paths), normal: platform === 'darwin' }
  return folding.case || folding.normal ? folding : EXACT
}

async function foldsCase(folder: string, disk: Disk, paths: PathModel): Promise<boolean> {
  // What cannot be listed has no names to ask about. While it cannot, the folder above, which may fold otherwise, is no answer.
  const names = await disk.names(folder).catch((error: unknown) => {
    if (isResourceShortage(error)) throw error
    return []
  })
  const inside = names.find((name) => otherCase(name) !== undefined)
  const asked = inside === undefined ? parentOf(folder, paths) : { folder, name: inside }
  const other = otherCase(asked.name)
  if (other === undefined) return false
  const [one, two] = [await disk.look(joinNames(asked.folder, asked.name)), await disk.look(joinNames(asked.folder, other))]
  return one !== undefined && two !== undefined && one.device === two.device && one.node === two.node
}
