import { lstat, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { hasProcessEnded, processIdentity } from '@bulkhead/kit/processes'
import type { Owner, Sidecar, SidecarFile } from '@bulkhead/host'
import { CORE_VERSION } from './version.ts'

const PREFIX = 'bulkhead-results-'
/** Process id and start time, which identify a live process. */
const ownerPart = (id: string): string => id.split('-').slice(0, 2).join('-')

/** Removes result folders of this user's hosts that were killed. Never rejects. */
async function sweep(owner: Owner): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  await Promise.all(names.map(async (name) => {
    const id = /^bulkhead-results-(\d+-\d*)-[^-]+$/.exec(name)?.[1]
    if (id === undefined || !owner.isGone(`${id}-`)) return
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => undefined)
    if (found?.isDirectory() && found.uid === process.getuid?.()) {
      await rm(path, { recursive: true, force: true }).catch(() => undefined)
    }
  }))
}

const NONE: ReadonlySet<string> = new Set()

/** Number of closed sessions to remember, to reject their late results. */
const MOST_OVER = 1_000

/**
 * Stores long results: one folder per session, readable only by this user, removed with the session. `lent`: other
 * files that reading tools of a session may read.
 */
export function createSidecar(
  lent: (sessionId: string) => ReadonlySet<string> = () => NONE, owner: Owner = createProcessOwner(),
): Required<Sidecar> {
  let sweeping: Promise<void> | undefined
  const make = async (): Promise<string> => {
    await (sweeping ??= sweep(owner))
    return mkdtemp(join(tmpdir(), `${PREFIX}${ownerPart(owner.id)}-`))
  }
  const folders = new Map<string, Promise<string>>()
  const saved = new Map<string, Set<string>>()
  const over = new Set<string>()

  const folderOf = (sessionId: string): Promise<string> => {
    // A late result would create a folder that is never removed.
    if (over.has(sessionId)) return Promise.reject(new BulkheadError('SessionCancelled', 'The session is closed.'))
    const known = folders.get(sessionId) ?? make()
    folders.set(sessionId, known)
    return known
  }

  const openFile = async (sessionId: string, callId: string): Promise<SidecarFile> => {
    const folder = join(await folderOf(sessionId), 'results')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // The model chooses the call id, so it must be encoded before use in a file name.
    const path = join(folder, `${Buffer.from(callId).toString('base64url').slice(0, 64)}-${crypto.randomUUID()}.txt`)
    const file = await open(path, 'wx', 0o600)
    return {
      write: (bytes) => file.appendFile(bytes),
      async close() {
        await file.close()
        if (!over.has(sessionId)) saved.set(sessionId, (saved.get(sessionId) ?? new Set()).add(path))
        return path
      },
      async remove() {
        await file.close()
        await rm(path, { force: true })
      },
    }
  }

  return {
    async save(sessionId, callId, text) {
      const file = await openFile(sessionId, callId)
      try {
        await file.write(Buffer.from(text))
        return await file.close()
      } catch (error) {
        await file.remove().catch(() => undefined)
        throw error
      }
    },
    open: openFile,
    files(sessionId) {
      const [own, others] = [saved.get(sessionId) ?? NONE, lent(sessionId)]
      return others.size === 0 ? own : own.union(others)
    },
    reopen(sessionId) {
      over.delete(sessionId)
    },
    async discard(sessionId: string): Promise<void> {
      const folder = folders.get(sessionId)
      folders.delete(sessionId)
      saved.delete(sessionId)
      over.add(sessionId)
      if (over.size > MOST_OVER) over.delete(over.values().next().value!)
      if (folder) await rm(await folder, { recursive: true, force: true })
    },
  }
}

/** Identifies this process to others that share the store: by process id and, where available, start time. */
export const createProcessOwner = (): Owner => ({
  id: `${processIdentity()}-${crypto.randomUUID()}`, isGone: hasProcessEnded, pid: process.pid, machine: hostname(),
  version: CORE_VERSION,
})
