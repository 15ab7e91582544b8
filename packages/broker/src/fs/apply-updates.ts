import type { Stats } from 'node:fs'
import { access, constants, lstat, rename, rmdir, unlink } from 'node:fs/promises'
import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { EffectCounter } from '../model/capability.ts'
import { ABSENT, fileState, type RecordChange } from './change-record.ts'
import type { TextFiles } from './edit-file.ts'
import { isMissing, notRegular, withFileErrors } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import { joinNames, liesIn } from './paths.ts'
import type { ResolvedPath } from './path-policy.ts'
import { readFile } from './read-file.ts'
import { digestOf, openJournal } from './update-journal.ts'
import { queueForFiles, stageFile, temporaryName, tooLong } from './write-file.ts'
import { MAX_UPDATED_BYTES, type Update } from './update-request.ts'

export interface UpdateParts {
  readonly record: RecordChange
  readonly effects?: EffectCounter | undefined
  /** Has the text of files before the disk does. */
  readonly client?: TextFiles | undefined
  /** Where changes are noted until they are complete. */
  readonly journal?: string | undefined
}

/** A file to change. It is known to have the content that the tool expects. */
interface FileToChange {
  readonly resolved: ResolvedPath
  readonly before: Buffer | null
  readonly after: Buffer | null
  readonly executable: boolean | undefined
  readonly existing: Stats | undefined
  /** The owner and mode that the file gets. */
  readonly rights: Stats | undefined
  readonly temporary: string
}

/**
 * Changes several files, or none. Every path is checked before anything is written, and each file must have the content
 * that the tool expects. Contract: if it rejects, all files have their old content.
 */
export async function applyUpdates(
  { read, write }: Readonly<Record<'read' | 'write', FileScope>>, updates: readonly Update[], parts: UpdateParts,
): Promise<JsonObject[]> {
  const located: ResolvedPath[] = []
  for (const { path, before, like } of updates) {
    const resolved = await write.locate(path)
    if (resolved.linked) throw notRegular(path)
    // A refusal tells whether the content was guessed right, so it also needs the right to read.
    if (before !== null) await read.locate(path)
    if (like !== undefined) await read.locate(like)
    located.push(resolved)
  }
  refuseOverlaps(located)
  const bytes = updates.reduce((sum, { after }) => sum + (after?.length ?? 0), 0)
  if (bytes > MAX_UPDATED_BYTES) throw tooLong('the files', bytes)
  parts.effects?.add('writtenBytes', bytes)
  return queueForFiles(located.map(({ real }) => real), async () => {
    const files: FileToChange[] = []
    for (const [index, update] of updates.entries()) {
      files.push(await check({ read, write }, located[index]!, update, parts))
    }
    if (parts.client === undefined) await commit(write, files, parts)
    else await writeThrough(write, files, parts.client, parts.record)
    return files.map(({ existing }) => ({ wasExecutable: existing !== undefined && (existing.mode & 0o100) !== 0 }))
  })
}

function refuseOverlaps(located: readonly ResolvedPath[]): void {
  const sorted = located.toSorted((one, other) => joinNames(one.real, '') < joinNames(other.real, '') ? -1 : 1)
  for (const [index, { real, given }] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next === undefined || !liesIn(next.real, real)) continue
    const what = next.real === real ? 'is named twice' : `is a file, and "${next.given}" would be below it`
    throw new BulkheadError('InputInvalid', `"${given}" ${what}. Change one of them first, and the other one then.`)
  }
}

async function check(
  { read, write }: Readonly<Record<'read' | 'write', FileScope>>, resolved: ResolvedPath, update: Update,
  { effects, client }: UpdateParts,
): Promise<FileToChange> {
  const { given } = resolved
  const statOf = (scope: FileScope, path: ResolvedPath): Promise<Stats | undefined> =>
    scope.inFolder(path, (folder, name) => lstat(folder.at(name))).catch(ifNotFound)
  const existing = await statOf(write, resolved)
  if (existing !== undefined && !existing.isFile()) throw notRegular(given)
  // An editor may have a text that is not saved yet.
  const current = await client?.read(write, resolved)
    ?? (existing === undefined ? undefined : await readFile(write, resolved, {}))
  effects?.add('readBytes', current?.length ?? 0)
  if (update.before === null && current !== undefined) throw changed(given, 'exists already')
  if (update.before !== null && current === undefined) throw changed(given, 'does not exist any more')
  if (update.before?.equals(current!) === false) throw changed(given, 'has changed since it was read')
  // rename() and unlink() need rights to the folder only, so check that the file itself is writable.
  if (existing !== undefined) {
    await write.inFolder(resolved, async (folder, name) => {
      await access(folder.at(name), constants.W_OK)
      await access(folder.at('.'), constants.W_OK)
    })
  }
  const model = update.like === undefined ? undefined : await statOf(read, await read.locate(update.like))
  const { before, after, executable } = update
  return { resolved, before, after, executable, existing, rights: existing ?? model, temporary: temporaryName() }
}

/** Writes all new content beside the files, and then puts it in place. */
async function commit(
  write: FileScope, files: readonly FileToChange[], { record, journal: journalFolder }: UpdateParts,
): Promise<void> {
  const made = await missingFolders(write, files)
  const journal = await withFileErrors('The journal of changes', () => openJournal(journalFolder, files.map((file) => {
    const { folder, name } = write.parent(file.resolved)
    return {
      folder: write.pathOf({ ...file.resolved, real: folder }), name,
      temporary: file.after === null ? null : file.temporary, before: file.before && digestOf(file.before),
    }
  })))
  const staged: FileToChange[] = []
  const replaced: FileToChange[] = []
  try {
    for (const file of files) {
      if (file.after !== null) await stage(write, file, file.after, record)
      staged.push(file)
    }
    if (record !== undefined) for (const file of files) await recordUpdate(write, file, record)
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

const stage = (write: FileScope, file: FileToChange, bytes: Buffer, record: RecordChange): Promise<void> => {
  const { resolved, temporary, rights, executable } = file
  return write.inCreatedFolder(resolved, (folder) =>
    stageFile(folder, { path: resolved.given, temporary: folder.at(temporary), rights, executable }, bytes), record)
}

/** Contract: the new content is staged. */
function recordUpdate(
  write: FileScope, { resolved, before, after, existing, temporary }: FileToChange, record: NonNullable<RecordChange>,
): Promise<void> {
  return write.inFolder(resolved, async (folder) => record({
    path: write.pathOf(resolved),
    // A text that an editor has not saved is not on the disk.
    ...(before === null || existing === undefined
      ? { before: ABSENT, content: undefined } : { before: fileState(before, existing.mode), content: before }),
    after: after === null ? ABSENT : fileState(after, (await lstat(folder.at(temporary))).mode),
  }))
}

/** Puts back as many files as possible, the last one first. Returns an error that names the others. */
async function putAllBack(
  files: readonly FileToChange[], restore: (file: FileToChange) => Promise<void>,
): Promise<BulkheadError | undefined> {
  const lost: string[] = []
  for (const file of files.toReversed()) await restore(file).catch(() => lost.push(`"${file.resolved.given}"`))
  return lost.length === 0 ? undefined : new BulkheadError(
    'ToolExecutionFailed',
    `Not all files could be changed, and ${lost.join(', ')} could not be put back. Check what they contain.`,
  )
}

async function putBack(write: FileScope, file: FileToChange): Promise<void> {
  const { resolved, before, existing } = file
  if (before === null) return void await write.inFolder(resolved, (folder, name) => unlink(folder.at(name)))
  await stage(write, { ...file, rights: existing, executable: undefined }, before, undefined)
  await write.inFolder(resolved, (folder, name) => rename(folder.at(file.temporary), folder.at(name)))
}

const discard = (write: FileScope, { resolved, temporary }: FileToChange): Promise<void> =>
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
  write: FileScope, files: readonly FileToChange[], client: TextFiles, record: RecordChange,
): Promise<void> {
  const written: FileToChange[] = []
  try {
    for (const file of files) {
      const isWritten =
        file.after !== null && await client.write(write, file.resolved, file.after, record) !== undefined
      if (!isWritten) await commit(write, [file], { record })
      written.push(file)
    }
  } catch (error) {
    throw await putAllBack(written, async (file) => {
      const { before, after, resolved } = file
      const isBack =
        before !== null && after !== null && await client.write(write, resolved, before, undefined) !== undefined
      if (!isBack) await putBack(write, file)
    }) ?? error
  }
}

const changed = (path: string, what: string): BulkheadError =>
  new BulkheadError('InputInvalid', `"${path}" ${what}. Nothing was written. Read it, then try again.`, {
    data: { path },
  })

const ignore = (): void => undefined

function ifNotFound(error: unknown): undefined {
  if (isMissing(error) || (BulkheadError.is(error) && error.code === 'NotFound')) return undefined
  throw error
}
