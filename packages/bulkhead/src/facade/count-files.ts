import { opendir } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder with few files that count may have many that do not. */
const ENTRIES_PER_FILE = 10

/**
 * How many files below a folder count, links not followed. Stops at one more than `most`, and says so as well where it
 * has looked at many more entries. Rejects if the folder cannot be read.
 */
export async function countFiles(folder: string, most: number, isCounted: (path: string) => boolean): Promise<number> {
  const waiting = [folder]
  let [files, entries] = [0, 0]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for await (const entry of await opendir(at)) {
      const path = join(at, entry.name)
      if (++entries > most * ENTRIES_PER_FILE) return most + 1
      if (!isCounted(path)) continue
      if (entry.isDirectory()) waiting.push(path)
      else if (++files > most) return files
    }
  }
  return files
}
