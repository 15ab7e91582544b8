import { chmod, lstat, mkdir, rmdir } from 'node:fs/promises'
import { reaper } from '../process/reaper.ts'

/** By this it is known for what it is, also to a loader, and one that a killed host left is used again. */
const NO_RIGHTS = 0o000
const USUAL_RIGHTS = 0o755

/** How many commands of this process use a folder that was made for them. */
const made = new Map<string, { users: number; readonly ready: Promise<boolean> }>()

/** Something a sandbox can mount on. */
export interface MountPoint {
  /** Whether it was made for this and is empty. */
  readonly isEmpty: boolean
  /** Idempotent. What was made goes with its last user, unless something lies in it by then. */
  release(): Promise<void>
}

/**
 * A sandbox can only mount on what is there. A folder that is missing is made for as long as commands run, so that none of
 * them can make it, and no workspace keeps an empty one. Contract: undefined for what cannot be mounted on, such as a link.
 */
export async function holdMountPoint(path: string): Promise<MountPoint | undefined> {
  const known = made.get(path)
  const entry = known ?? { users: 0, ready: makeEmpty(path) }
  entry.users++
  if (known === undefined) made.set(path, entry)
  if (!await entry.ready) {
    if (made.get(path) === entry) made.delete(path)
    const found = await lstat(path).catch(() => undefined)
    return found === undefined || found.isSymbolicLink() ? undefined : { isEmpty: false, release: async () => undefined }
  }
  let held = true
  const forget = reaper.hold('empty', path)
  return {
    isEmpty: true,
    async release() {
      if (!held) return
      held = false
      forget()
      if (--entry.users > 0) return
      made.delete(path)
      await rmdir(path).catch(() => chmod(path, USUAL_RIGHTS)).catch(() => undefined)
    },
  }
}

/** Whether it is there now, made by this host or one before it. */
async function makeEmpty(path: string): Promise<boolean> {
  try {
    await mkdir(path, NO_RIGHTS)
    return true
  } catch {
    const found = await lstat(path).catch(() => undefined)
    return found !== undefined && found.isDirectory() && (found.mode & 0o777) === NO_RIGHTS
  }
}
