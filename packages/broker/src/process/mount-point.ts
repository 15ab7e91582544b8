import { chmod, lstat, mkdir, rmdir } from 'node:fs/promises'
import { reaper } from './reaper.ts'

/** This mode identifies a mount point, also for the loader and after a crash of the host. */
const NO_RIGHTS = 0o000
const USUAL_RIGHTS = 0o755

/** Mount points that this process created, with the number of commands that use them. */
const made = new Map<string, { users: number; readonly ready: Promise<boolean> }>()

/** A folder that a sandbox can mount on. */
export interface MountPoint {
  /** Whether it was created for this purpose. */
  readonly isEmpty: boolean
  /** Idempotent. The last user removes a created folder, unless it is no longer empty. */
  release(): Promise<void>
}

/**
 * bubblewrap can only mount on existing paths. A missing folder is created while commands run, so that no command can
 * create it. Contract: undefined for a path that cannot be mounted on, such as a link.
 */
export async function holdMountPoint(path: string): Promise<MountPoint | undefined> {
  const known = made.get(path)
  const entry = known ?? { users: 0, ready: makeEmpty(path) }
  entry.users++
  if (known === undefined) made.set(path, entry)
  if (!await entry.ready) {
    if (made.get(path) === entry) made.delete(path)
    const found = await lstat(path).catch(() => undefined)
    const isMountable = found !== undefined && !found.isSymbolicLink()
    return isMountable ? { isEmpty: false, release: async () => undefined } : undefined
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

/** Whether the mount point exists now, created by this host or an earlier one. */
async function makeEmpty(path: string): Promise<boolean> {
  try {
    await mkdir(path, NO_RIGHTS)
    return true
  } catch {
    const found = await lstat(path).catch(() => undefined)
    return found !== undefined && found.isDirectory() && (found.mode & 0o777) === NO_RIGHTS
  }
}
