import { chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reaper } from '../process/reaper.ts'
import { temporaryFolder } from '../process/temporary-folder.ts'

/** The one folder that a command behind a wall can always write: its home, and for temporary files. */
export interface PrivateFolder {
  readonly path: string
  /** The variables by which programs find it. */
  readonly variables: Readonly<Record<string, string>>
  /** With everything in it. Contract: no process of the command is left. */
  remove(): Promise<void>
}

/** `gitSettings`: as in a file of git. */
export async function openPrivateFolder(gitSettings: string): Promise<PrivateFolder> {
  const path = await temporaryFolder('bulkhead-home-', 'The private folder of the command')
  const forget = reaper.hold('folder', path)
  const remove = async (): Promise<void> => {
    await rm(path, { recursive: true, force: true }).catch(() => removeClosed(path)).catch(() => undefined)
    forget()
  }
  try {
    if (gitSettings !== '') await writeFile(join(path, '.gitconfig'), gitSettings)
  } catch (error) {
    await remove()
    throw error
  }
  return { path, variables: variablesOf(path), remove }
}

const variablesOf = (path: string): Readonly<Record<string, string>> => ({
  HOME: path, TMPDIR: path, XDG_RUNTIME_DIR: path, XDG_CONFIG_HOME: join(path, '.config'),
  XDG_CACHE_HOME: join(path, '.cache'), XDG_DATA_HOME: join(path, '.local/share'),
  XDG_STATE_HOME: join(path, '.local/state'),
})

/** A command can leave folders that their owner may not enter. */
async function removeClosed(folder: string): Promise<void> {
  const open = async (path: string): Promise<void> => {
    await chmod(path, 0o700)
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (entry.isDirectory()) await open(join(path, entry.name))
    }
  }
  await open(folder)
  await rm(folder, { recursive: true, force: true })
}
