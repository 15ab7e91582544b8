import type { Stats } from 'node:fs'
import { lstat, rename, rmdir, unlink } from 'node:fs/promises'
import { BulkheadError, type FileState } from '@bulkhead/contract'
import { ABSENT, fileState, type BeforeChange } from './change-record.ts'
import type { TextFiles } from './edit-file.ts'
import { withFileErrors } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { ResolvedPath } from './path-policy.ts'
import { openJournal } from './update-journal.ts'
import { stageFile, temporaryName } from './write-file.ts'

/** A file to change. Contract: the caller holds its queue, and it has this content. */
export interface FileToChange {
  readonly resolved: ResolvedPath
  /** null: no file. undefined: the file is too long to be kept, so it cannot be put back. */
  readonly before: Buffer | null | undefined
  /** null: the file is removed. */
  readonly after: Buffer | null
  readonly existing: Stats | undefined
  /** The owner and mode that the file gets. */
  readonly rights: Stats | undefined
  /** Replaces the mode of `rights`. */
  readonly mode?: number | undefined
  readonly executable?: boolean | undefined
  readonly record: BeforeChange['record']
}

export interface CommitParts extends Pick<BeforeChange, 'begin'> {
  /** Has the text of files before the disk does. */
  readonly client?: TextFiles | undefined
  /** Where changes are noted until they are complete. */
  readonly journal?: string | undefined
}

/** Changes all files or none. Contract: if it rejects, all files have their old content. */
export async function commitFiles(
  write: FileScope, given: readonly FileToChange[], { client, journal, begin }: CommitParts,
): Promise<void> {
  const files = given.map((file) => ({ ...file, was: stateBefore(file), temporary: temporaryName() }))
  if (client === undefined) await commit(write, files, { journal, begin })
  else await writeThrough(write, files, client, begin)
}

type StagedChange = FileToChange & { readonly was: FileState; readonly temporary: string }

/** Writes all new content beside the files, and then puts it in place. */
async function commit(
  write: FileScope, files: readonly StagedChange[], { journal: journalFolder, begin }: Omit<CommitParts, 'client'>,
): Promise<void> {
  if (files.length === 0) return
  const made = await missingFolders(write, files)
  const journal = await withFileErrors('The journal of changes', () => openJournal(journalFolder, files.map((file) => {
    const { folder, name } = write.parent(file.resolved)
    return {
      folder: write.pathOf({ ...file.resolved, real: folder }), name,
      temporary: file.after === null ? null : file.temporary,
      before: file.was.kind === 'file' ? file.was.digest ?? undefined : null,
    }
  })))
  const staged: StagedChange[] = []
  const replaced: StagedChange[] = []
  try {
    for (const file of files) {
      if (file.after !== null) await stage(write, { ...file, begin }, file.after)
      staged.push(file)
    }
    for (const file of files) await recordChange(write, file)
    await begin?.()
    await journal.commit()
    for (const file of files) {
      await write.inFolder(file.resolved, (folder, name) => file.after === null
        ? unlink(folder.at(name)) : rename(folder.at(file.temporary), folder.at(name)))
      replaced.push(file)
    }
  } catch (error) {
    const lost = await putAllBack(replaced, (file) => putBack(write, file))
    for (const file of staged) await discard(write, file)
    for (const folder of made) await write.inFolder(folder, (parent, name) => rmdir(parent.at(name))).catch(ignore)
    throw lost ?? error
  } finally {
    await journal.end().catch(ignore)
  }
}

const stage = (write: FileScope, file: StagedChange & Pick<BeforeChange, 'begin'>, bytes: Buffer): Promise<void> => {
  const { resolved, temporary, rights, mode, executable } = file
  return write.inCreatedFolder(resolved, (folder) =>
    stageFile(folder, { path: resolved.given, temporary: folder.at(temporary), rights, mode, executable }, bytes), file)
}

/** Contract: the new content is staged. */
async function recordChange(write: FileScope, file: StagedChange): Promise<void> {
  const { resolved, before, was, after, temporary, record } = file
  if (record === undefined) return
  await write.inFolder(resolved, async (folder) => record({
    path: write.pathOf(resolved), before: was, content: before ?? undefined,
    after: after === null ? ABSENT : fileState(after, (await lstat(folder.at(temporary))).mode),
  }))
}

function stateBefore({ before, existing }: FileToChange): FileState {
  // A text that an editor has not saved is not on the disk.
  if (before === null || existing === undefined) return ABSENT
  if (before !== undefined) return fileState(before, existing.mode)
  return { kind: 'file', digest: null, size: existing.size, mode: existing.mode & 0o777 }
}

/** Puts back as many files as possible, the last one first. Returns an error that names the others. */
async function putAllBack(
  files: readonly StagedChange[], restore: (file: StagedChange) => Promise<void>,
): Promise<BulkheadError | undefined> {
  const lost: string[] = []
  for (const file of files.toReversed()) await restore(file).catch(() => lost.push(`"${file.resolved.given}"`))
  return lost.length === 0 ? undefined : new BulkheadError(
    'ToolExecutionFailed',
    `Not all files could be changed, and ${lost.join(', ')} could not be put back. Check what they contain.`,
  )
}

async function putBack(write: FileScope, file: StagedChange): Promise<void> {
  const { resolved, before, existing } = file
  if (before === undefined) throw new Error('Its content was not kept.')
  if (before === null) return void await write.inFolder(resolved, (folder, name) => unlink(folder.at(name)))
  const former = { ...file, rights: existing, mode: undefined, executable: undefined, record: undefined }
  await stage(write, former, before)
  await write.inFolder(resolved, (folder, name) => rename(folder.at(file.temporary), folder.at(name)))
}

const discard = (write: FileScope, { resolved, temporary }: StagedChange): Promise<void> =>
  write.inFolder(resolved, (folder) => unlink(folder.at(temporary))).catch(ignore)

/** Folders that the new files need, the deepest first. */
async function missingFolders(
  write: FileScope, files: readonly FileToChange[],
): Promise<readonly ResolvedPath[]> {
  const missing = new Map<string, ResolvedPath>()
  for (const { resolved } of files.filter(({ after }) => after !== null)) {
    for (let at = parentIn(write, resolved); !missing.has(at.real); at = parentIn(write, at)) {
      if (await write.lstat(at) !== undefined) break
      missing.set(at.real, at)
    }
  }
  return [...missing.values()].toSorted((one, other) => other.real.length - one.real.length)
}

const parentIn = (write: FileScope, resolved: ResolvedPath): ResolvedPath =>
  ({ ...resolved, real: write.parent(resolved).folder })

/** Writes file after file: an editor writes its own text. What was written is put back if a later one fails. */
async function writeThrough(
  write: FileScope, files: readonly StagedChange[], client: TextFiles, begin: BeforeChange['begin'],
): Promise<void> {
  const written: StagedChange[] = []
  try {
    for (const file of files) {
      const isWritten = file.after !== null
        && await client.write(write, file.resolved, file.after, { record: file.record, begin }) !== undefined
      if (!isWritten) await commit(write, [file], { begin })
      written.push(file)
    }
  } catch (error) {
    throw await putAllBack(written, async (file) => {
      const { before, after, resolved } = file
      const isBack = before && after !== null && await client.write(write, resolved, before, UNRECORDED) !== undefined
      if (!isBack) await putBack(write, file)
    }) ?? error
  }
}

/** It takes back what had begun. */
const UNRECORDED = { record: undefined } as const
const ignore = (): void => undefined
