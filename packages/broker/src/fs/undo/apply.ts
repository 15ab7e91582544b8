import { chmod, lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError, type FileReplacement, type FileState, type UndoAccess } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { ABSENT, type RecordChange } from '../change-record.ts'
import type { FileScope } from '../file-scope.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { removeFrom, replaceFile, type TextTarget } from '../write-file.ts'
import { inOrder, type PlannedStep } from './plan.ts'

export interface ApplyParts {
  readonly scope: FileScope
  /** Of each path. Contract: the caller holds the queues of all. */
  readonly resolved: ReadonlyMap<string, ResolvedPath>
  readonly content: UndoAccess['content']
  readonly record: (change: FileReplacement) => Promise<void>
  readonly client?: TextTarget | undefined
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

const modeOf = ({ current }: PlannedStep): number | undefined =>
  current.kind === 'absent' ? undefined : current.mode

async function makeAll(
  steps: readonly PlannedStep[], parts: ApplyParts, done: PlannedStep[],
): Promise<readonly string[]> {
  const { removals, folders, files } = inOrder(steps)
  const left: string[] = []
  for (const step of removals) {
    if (await remove(step, parts)) done.push({ ...step, target: ABSENT })
    else left.push(step.path)
  }
  for (const step of folders) {
    await createFolder(step, parts)
    done.push(step)
  }
  for (const step of files) {
    await write(step, parts)
    done.push(step)
  }
  return left
}

const recorderFor = ({ undoes }: PlannedStep, { record }: ApplyParts): RecordChange =>
  (change) => record({ ...change, undoes })

/** False for a folder that has other content and should only go. */
async function remove(step: PlannedStep, parts: ApplyParts): Promise<boolean> {
  const { path, current, target } = step
  try {
    await parts.scope.inFolder(parts.resolved.get(path)!, (folder, name) =>
      removeFrom(folder, name, { path, record: recorderFor(step, parts) }))
    return true
  } catch (error) {
    const isFull = current.kind === 'folder' && errorCode((error as Error).cause) === 'ENOTEMPTY'
    if (isFull && target.kind === 'absent') return false
    throw error
  }
}

async function createFolder(step: PlannedStep, parts: ApplyParts): Promise<void> {
  const { path, target, mode } = step
  const record = recorderFor(step, parts)
  await parts.scope.inCreatedFolder(parts.resolved.get(path)!, async (folder, name) => {
    const at = folder.at(name)
    const found = await lstat(at).catch(() => undefined)
    const isThere = found?.isDirectory() === true
    const before: FileState = isThere ? { kind: 'folder', mode: found.mode & 0o777 } : ABSENT
    await record?.({ path: join(folder.where, name), before, after: target })
    if (!isThere) await mkdir(at)
    // Not as the mode of mkdir, which the system restricts.
    if (mode !== undefined) await chmod(at, mode)
  }, record)
}

async function write(step: PlannedStep, parts: ApplyParts): Promise<void> {
  const { path, target, mode } = step
  const resolved = parts.resolved.get(path)!
  const content = target.kind === 'file' && target.digest !== null ? await parts.content(target.digest) : undefined
  if (content === undefined) throw new BulkheadError('NotFound', `The content of "${path}" is no longer recorded.`)
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const record = recorderFor(step, parts)
  const isWritten = await parts.client?.write(parts.scope, resolved, bytes, record) !== undefined
  if (isWritten) return
  await parts.scope.inCreatedFolder(
    resolved, (folder, name) => replaceFile(folder, name, { path, record, mode }, bytes), record,
  )
}
