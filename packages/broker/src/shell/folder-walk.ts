/** Folders that one search visits. A larger tree would delay every command. */
const MOST_FOLDERS = 100_000
/** Then others get their turn. */
const FOLDERS_AT_ONCE = 256

/** Visits these folders, and those that each visit returns. Rejects with what `tooMany` returns for a larger tree. */
export async function walkFolders<Folder>(
  first: readonly Folder[], visit: (folder: Folder) => readonly Folder[], tooMany: () => Error,
): Promise<void> {
  const waiting = [...first]
  for (let visited = 1; waiting.length > 0; visited++) {
    if (visited > MOST_FOLDERS) throw tooMany()
    if (visited % FOLDERS_AT_ONCE === 0) await new Promise(setImmediate)
    waiting.push(...visit(waiting.pop()!))
  }
}
