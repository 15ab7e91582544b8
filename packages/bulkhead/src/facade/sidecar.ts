import { readFileSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import type { Owner, Sidecar } from '@bulkhead/host'

const PREFIX = 'bulkhead-results-'
/** The process and when it began: what tells whether it lives. */
const ownerPart = (id: string): string => id.split('-').slice(0, 2).join('-')

/** Removes what hosts of this user left in the temporary folder that were killed. Never rejects. */
async function sweep(owner: Owner): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  await Promise.all(names.map(async (name) => {
    const id = /^bulkhead-results-(\d+-\d*)-[^-]+$/.exec(name)?.[1]
    if (id === undefined || !owner.isGone(`${id}-`)) return
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => undefined)
    if (found?.isDirectory() && found.uid === process.getuid?.()) await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }))
}

const NONE: ReadonlySet<string> = new Set()

/** Sessions whose end is remembered. A result of a session that ended before so many others is not on its way any more. */
const MOST_OVER = 1_000

/** Where results go that are too long for a model: one folder per session, readable by this user alone, removed with it. */
export function createSidecar(owner: Owner = createProcessOwner()): Required<Sidecar> {
  let sweeping: Promise<void> | undefined
  const make = async (): Promise<string> => {
    await (sweeping ??= sweep(owner))
    return mkdtemp(join(tmpdir(), `${PREFIX}${ownerPart(owner.id)}-`))
  }
  const folders = new Map<string, Promise<string>>()
  const saved = new Map<string, Set<string>>()
  const over = new Set<string>()

  const folderOf = (sessionId: string): Promise<string> => {
    // A result that comes after its session would make a folder nobody removes.
    if (over.has(sessionId)) return Promise.reject(new BulkheadError('SessionCancelled', 'The session is closed.'))
    const known = folders.get(sessionId) ?? make()
    folders.set(sessionId, known)
    return known
  }

  return {
    async save(sessionId: string, callId: string, text: string): Promise<string> {
      const folder = join(await folderOf(sessionId), 'results')
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // A call id is the model's text: its hash-like form is the file name, never the text itself.
      const path = join(folder, `${Buffer.from(callId).toString('base64url').slice(0, 64)}-${crypto.randomUUID()}.txt`)
      await writeFile(path, text, { mode: 0o600, flag: 'wx' })
      if (!over.has(sessionId)) saved.set(sessionId, (saved.get(sessionId) ?? new Set()).add(path))
      return path
    },
    files: (sessionId) => saved.get(sessionId) ?? NONE,
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

/** This process, as others that share its store can tell whether it lives: by its id, and where that is told, its start. */
export function createProcessOwner(): Owner {
  return { id: `${process.pid}-${startOf(process.pid) ?? ''}-${crypto.randomUUID()}`, isGone }
}

function isGone(id: string): boolean {
  const [pid, start] = id.split('-')
  if (!/^[1-9]\d*$/.test(pid ?? '')) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Another process may have got the id meanwhile.
  const now = startOf(Number(pid))
  return start !== '' && now !== undefined && now !== start
}

/** In ticks since the machine started; undefined where the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold anything, blanks and brackets too.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
