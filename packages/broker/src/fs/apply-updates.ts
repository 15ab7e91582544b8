import type { Stats } from 'node:fs'
import { access, constants, lstat } from 'node:fs/promises'
import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { EffectCounter } from '../model/capability.ts'
import type { BeforeChange } from './change-record.ts'
import { commitFiles, type CommitParts, type FileToChange } from './commit-files.ts'
import { isMissing, notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import { joinNames, liesIn } from './paths.ts'
import type { ResolvedPath } from './path-policy.ts'
import { readFile } from './read-file.ts'
import { queueForFiles, tooLong } from './write-file.ts'
import { MAX_UPDATED_BYTES, type Update } from './update-request.ts'

export interface UpdateParts extends CommitParts {
  readonly record: BeforeChange['record']
  readonly effects?: EffectCounter | undefined
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
    const begin = () => parts.effects?.begin(`changes ${located.map(({ given }) => given).join(', ')}`)
    await commitFiles(write, files, { ...parts, begin })
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
  { effects, client, record }: UpdateParts,
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
  return { resolved, before, after, executable, existing, rights: existing ?? model, record }
}

const changed = (path: string, what: string): BulkheadError =>
  new BulkheadError('InputInvalid', `"${path}" ${what}. Nothing was written. Read it, then try again.`, {
    data: { path },
  })

function ifNotFound(error: unknown): undefined {
  if (isMissing(error) || (BulkheadError.is(error) && error.code === 'NotFound')) return undefined
  throw error
}
