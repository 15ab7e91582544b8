import { access, chmod, constants, lstat, mkdir, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError, type FileReplacement, type FileState, type UndoAccess } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { ABSENT, fileState, readState, type FoundFile } from '../change-record.ts'
import { commitFiles, type CommitParts, type FileToChange } from '../commit-files.ts'
import type { TextFiles } from '../edit-file.ts'
import { isMissing } from '../file-errors.ts'
import type { FileScope } from '../file-scope.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { removeLink } from '../remove-tree.ts'
import { removeFrom } from '../write-file.ts'
import { hasRights, inOrder, type PlannedStep } from './plan.ts'

export interface ApplyParts extends CommitParts {
  readonly scope: FileScope
  /** Of each path. Contract: the caller holds the queues of all. */
  readonly resolved: ReadonlyMap<string, ResolvedPath>
  readonly content: UndoAccess['content']
  readonly record: (change: FileReplacement) => Promise<void>
}

/** Resolves with the folders that stay because they are not empty. If a step fails, those before it are taken back. */
export async function applySteps(steps: readonly PlannedStep[], parts: ApplyParts): Promise<readonly string[]> {
  const done: PlannedStep[] = []
  try {
    return await makeAll(steps, parts, done)
  } catch (error) {
    const back = done.map((step) => ({ ...step, current: step.target, target: step.current, mode: modeOf(step) }))
    const failed = await makeAll(back, parts, []).then(() => undefined, messageOf)
    if (failed === undefined) throw error
    const why = `The undo stopped: ${messageOf(error)} Some files are put back, others are not (${failed}). Undo again.`
    throw new BulkheadError(BulkheadError.is(error) ? error.code : 'ToolExecutionFailed', why, { cause: error })
  }
}

const modeOf = ({ current }: PlannedStep): number | undefined => hasRights(current) ? current.mode : undefined

/**
 * All files change together, or none, also if the host is killed: then folders and links may be left that should go.
 * Only what is in the way of something else of the same name goes before.
 */
async function makeAll(
  steps: readonly PlannedStep[], parts: ApplyParts, done: PlannedStep[],
): Promise<readonly string[]> {
  const { before, folders, files, links, after } = inOrder(steps)
  const left: string[] = []
  const removeAll = async (removals: readonly PlannedStep[]): Promise<void> => {
    for (const step of removals) {
      if (await remove(step, parts)) done.push({ ...step, target: ABSENT })
      else left.push(step.path)
    }
  }
  await removeAll(before)
  for (const step of folders) {
    await createFolder(step, parts)
    done.push(step)
  }
  const changes: FileToChange[] = []
  for (const step of files) changes.push(await changeOf(step, parts))
  await commitFiles(parts.scope, changes, parts)
  done.push(...files)
  for (const step of links) {
    await putLink(step, parts)
    done.push(step)
  }
  await removeAll(after)
  return left
}

const beforeStep = ({ undoes }: PlannedStep, { record, begin }: ApplyParts) =>
  ({ record: (change: FileReplacement) => record({ ...change, undoes }), begin })

/** False for a folder that has other content and should only go. */
async function remove(step: PlannedStep, parts: ApplyParts): Promise<boolean> {
  const { path, current, target } = step
  try {
    const before = beforeStep(step, parts)
    await parts.scope.inFolder(parts.resolved.get(path)!, (folder, name) => current.kind === 'link'
      ? removeLink(folder, name, before) : removeFrom(folder, name, { path, before }))
    return true
  } catch (error) {
    const isFull = current.kind === 'folder' && errorCode((error as Error).cause) === 'ENOTEMPTY'
    if (isFull && target.kind === 'absent') return false
    throw error
  }
}

async function createFolder(step: PlannedStep, parts: ApplyParts): Promise<void> {
  const { path, target, mode } = step
  const steps = beforeStep(step, parts)
  await parts.scope.inCreatedFolder(parts.resolved.get(path)!, async (folder, name) => {
    const at = folder.at(name)
    const found = await lstat(at).catch(() => undefined)
    const isThere = found?.isDirectory() === true
    const before: FileState = isThere ? { kind: 'folder', mode: found.mode & 0o777 } : ABSENT
    await steps.record({ path: join(folder.where, name), before, after: target })
    await steps.begin?.()
    if (!isThere) await mkdir(at)
    // Not as the mode of mkdir, which the system restricts.
    if (mode !== undefined) await chmod(at, mode)
  }, steps)
}

/** Contract: nothing or a link is there. */
async function putLink(step: PlannedStep, parts: ApplyParts): Promise<void> {
  const { target } = step
  if (target.kind !== 'link') return
  const before = beforeStep(step, parts)
  await parts.scope.inCreatedFolder(parts.resolved.get(step.path)!, async (folder, name) => {
    const at = folder.at(name)
    const { state } = await readState(at, await lstat(at).catch(ifMissing))
    await before.record({ path: join(folder.where, name), before: state, after: target })
    await before.begin?.()
    if (state.kind === 'link') await unlink(at)
    await symlink(target.target, at)
  }, before)
}

async function changeOf(step: PlannedStep, parts: ApplyParts): Promise<FileToChange> {
  const { path, target, mode } = step
  const resolved = parts.resolved.get(path)!
  const { state, status, content } = await currentOf(resolved, parts.scope, parts.client)
  const kept = target.kind === 'file' && target.digest !== null ? await parts.content(target.digest) : null
  if (kept === undefined) throw new BulkheadError('NotFound', `The content of "${path}" is no longer recorded.`)
  // rename() and unlink() need rights to the folder only, so check that the file itself is writable.
  if (status) await parts.scope.inFolder(resolved, (folder, name) => access(folder.at(name), constants.W_OK))
  return {
    resolved, existing: status, rights: status, mode, record: beforeStep(step, parts).record,
    before: state.kind === 'absent' ? null : content && asBuffer(content), after: kept && asBuffer(kept),
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** The text that the client has, or what is on the disk. */
export async function currentOf(
  resolved: ResolvedPath, scope: FileScope, client: TextFiles | undefined,
): Promise<FoundFile> {
  const found = await scope.inFolder(resolved, async (folder, name) => {
    const at = folder.at(name)
    return readState(at, await lstat(at).catch(ifMissing))
  }).catch((error: unknown) => {
    if (BulkheadError.is(error) && error.code === 'NotFound') return readState('', undefined)
    throw error
  })
  const text = found.state.kind === 'file' ? await client?.read(scope, resolved) : undefined
  return text === undefined || found.state.kind !== 'file'
    ? found : { ...found, state: fileState(text, found.state.mode), content: text }
}

function ifMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined
  throw error
}
