import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { withFileLock } from '@bulkhead/kit/file-lock'
import { hasProcessEnded, processIdentity } from '@bulkhead/kit/processes'
import { reaper } from '../process/reaper.ts'
import { digestOf, KEPT_BYTES } from './change-record.ts'
import { folderOpener, READ, type FolderHandle } from './disk.ts'
import { isMissing } from './file-errors.ts'
import { isTemporaryName } from './write-file.ts'

/** How to finish the change of one file. */
export interface JournalEntry {
  /** Canonical, in the syntax of the system. */
  readonly folder: string
  readonly name: string
  /** The new content, in the same folder. null: the file is removed. */
  readonly temporary: string | null
  /** The digest of the content that is replaced. null: the file is new. undefined: it is too long to compare. */
  readonly before?: string | null | undefined
}

/** Keeps the changes of several files together if the host is killed. */
export interface UpdateJournal {
  /** All new content is written. If the host is killed from here on, the changes are finished. */
  commit(): Promise<void>
  /** Forgets the changes. */
  end(): Promise<void>
}

const PLANNED = '.planned'
const COMMITTED = '.committed'
/** A folder with copies of files that a command may change. */
export const COPIES = '.copies'

/** Begins with the process, so that what it leaves is known to be left. */
export const newJournalPath = (folder: string): string => join(folder, `${processIdentity()}-${randomUUID()}`)

/**
 * Opens a journal before anything is written. With a folder, `recoverUpdates` finishes or cancels the changes later.
 * Without one, the files that a killed host leaves behind are removed, and the files changed so far stay changed.
 */
export async function openJournal(
  folder: string | undefined, entries: readonly JournalEntry[],
): Promise<UpdateJournal> {
  if (folder === undefined) {
    const releases = entries.flatMap(({ folder: at, temporary }) =>
      temporary === null ? [] : [reaper.hold('file', join(at, temporary))])
    return { commit: async () => undefined, end: async () => releases.forEach((release) => release()) }
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = newJournalPath(folder)
  // A journal that is cut short is not valid JSON. Nothing was staged then.
  const handle = await open(path + PLANNED, 'wx', 0o600)
  await handle.writeFile(JSON.stringify(entries)).finally(() => handle.close())
  return {
    commit: () => rename(path + PLANNED, path + COMMITTED),
    end: async () => {
      await Promise.all([PLANNED, COMMITTED].map((state) => rm(path + state, { force: true })))
    },
  }
}

/**
 * Finishes the changes of hosts that were killed: those that were committed are completed, others are cancelled. A file
 * that changed since keeps its content. Their copies go. One host does it at a time: a second one would remove files that
 * were written after the first had finished. Contract: never rejects. A journal that cannot be finished stays.
 */
export const recoverUpdates = (folder: string): Promise<void> =>
  withFileLock(lockBeside(folder, 'changes'), () => recoverAll(folder)).catch(() => undefined)

async function recoverAll(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.toSorted()) {
    const state = [PLANNED, COMMITTED, COPIES].find((each) => name.endsWith(each))
    if (state === undefined || !hasProcessEnded(name)) continue
    const path = join(folder, name)
    try {
      if (state === COPIES) {
        await rm(path, { recursive: true })
        continue
      }
      const isCommitted = state === COMMITTED
      for (const entry of readEntries(await readFile(path, 'utf8'), isCommitted)) await recover(entry, isCommitted)
      await unlink(path)
    } catch {
      // The next host tries again.
    }
  }
}

/** A lock of this home. Locks are beside the journal, because files in the journal are to be finished. */
export const lockBeside = (journal: string, name: string): string => join(dirname(journal), 'locks', name)

/** A journal that is cut short was not committed. Throws for one that was, and that is damaged. */
function readEntries(text: string, isCommitted: boolean): readonly JournalEntry[] {
  try {
    return JSON.parse(text) as readonly JournalEntry[]
  } catch (error) {
    if (isCommitted) throw error
    return []
  }
}

async function recover({ folder: at, name, temporary, before }: JournalEntry, isCommitted: boolean): Promise<void> {
  if (temporary !== null && !isTemporaryName(temporary)) return
  const folder = await folderOpener(process.platform)(at).catch(ifMissing)
  if (folder === undefined) return
  try {
    // A link in place of a folder leads elsewhere.
    if (folder.where !== at) return
    const staged = temporary === null ? undefined : folder.at(temporary)
    if (!isCommitted) return void (staged && await unlink(staged).catch(ifMissing))
    // The new content is gone if it is already in place.
    if (staged !== undefined && await digestAt(folder, temporary!) === null) return
    const isUnchanged = await digestAt(folder, name) === before
    if (isUnchanged) await (staged === undefined ? unlink(folder.at(name)) : rename(staged, folder.at(name)))
    else if (staged !== undefined) await unlink(staged)
  } finally {
    await folder.release()
  }
}

/** null if there is no such file, and undefined if it is not what a tool could have written. */
async function digestAt(folder: FolderHandle, name: string): Promise<string | null | undefined> {
  const handle = await open(folder.at(name), READ).catch(ifMissing)
  if (handle === undefined) return null
  try {
    const found = await handle.stat()
    return found.isFile() && found.size <= KEPT_BYTES ? digestOf(await handle.readFile()) : undefined
  } finally {
    await handle.close()
  }
}

function ifMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined
  throw error
}
