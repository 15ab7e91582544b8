import { relative } from 'node:path'
import {
  BulkheadError, type ChangeRecorder, type FileState, type RecordedChange, type UndoAccess, type UndoSelection,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { OpenCall } from '../../model/capability.ts'
import type { TextFiles } from '../edit-file.ts'
import type { FileScope } from '../file-scope.ts'
import { lineDiff } from '../line-diff.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { queueForFiles } from '../write-file.ts'
import { applySteps, currentOf } from './apply.ts'
import { chainsOf, planStep, type Chain, type PlannedStep } from './plan.ts'

export interface UndoParts {
  readonly workspace: string
  readonly call: OpenCall
  readonly scopes: Readonly<Record<'read' | 'write', FileScope>>
  readonly access: UndoAccess
  readonly changes: ChangeRecorder
  readonly client?: TextFiles | undefined
  readonly journal?: string | undefined
}

interface UndoRequest extends UndoSelection {
  readonly dryRun: boolean
  readonly force: boolean
}

/** A file that the undo would not put back, or only with a loss. */
interface Loss {
  readonly path: string
  readonly reason: string
}

/** A file that cannot be put back, with its changes. */
interface StuckFile extends Loss {
  readonly ids: readonly number[]
}

const stuckAt = ({ path, changes }: Chain, reason: string): StuckFile =>
  ({ path, reason, ids: changes.map(({ id }) => id) })

/** Puts back what the selected changes replaced, or shows what that would change. */
export async function undoChanges(given: Json | undefined, parts: UndoParts): Promise<Json> {
  const { workspace, call, access, changes } = parts
  const request = readUndoRequest(given)
  const callId = call.hostCallId ?? call.callId
  const { all, selected, isUndone } = await access.select(callId, request)
  const { located, denied } = await locateAll(chainsOf(selected, all), parts)
  const reals = [...located.values()].map(({ resolved }) => resolved.real)
  const resolved = new Map([...located].map(([path, found]) => [path, found.resolved]))
  const recorded = new Set(selected.map((change) => change.kind === 'recorded' ? change.command : undefined))
  const commands = selected.filter((change) => change.kind === 'command').filter(({ id }) => !recorded.has(id))
    .map(({ callId: of, command }) => ({ call: of, command }))
  const effects = selected.filter((change) => change.kind === 'effect').toReversed()
  const shown = (path: string): string => path.startsWith(`${workspace}/`) ? relative(workspace, path) : path
  return queueForFiles(reals, async () => {
    const { steps, gone } = await planAll(located, parts)
    const stuck = [...denied, ...gone]
    const lost = [...stuck, ...steps.flatMap(({ path, lost: reason }) => reason ? [{ path, reason }] : [])]
      .map(({ path, reason }) => ({ path: shown(path), reason }))
    const report = {
      files: steps.map((step) => ({ path: shown(step.path), action: actionOf(step) })), lost, commands,
      reverts: effects.map(({ callId: of, tool }) => ({ call: of, tool })),
    }
    const isIdle = isUndone && steps.length === 0 && stuck.length === 0 && effects.length === 0
    if (isIdle) return { ...report, applied: false, alreadyUndone: true }
    if (request.dryRun) return { ...report, applied: false, diff: await diffOf(steps, parts, shown) }
    if (lost.length > 0 && !request.force) throw conflict(lost, isUndone)
    const left = await applySteps(steps, {
      scope: parts.scopes.write, resolved, content: (digest) => access.content(digest), client: parts.client,
      journal: parts.journal, begin: () => call.effects?.begin('undoes changes'),
      record: async (change) => {
        if (change.after.kind === 'file') call.effects?.add('writtenBytes', change.after.size)
        await changes.file(callId, change)
      },
    })
    const failed = await revertAll(effects, callId, parts)
    const notUndone = new Set([...stuck.flatMap(({ ids }) => ids), ...failed.map(({ id }) => id)])
    await changes.undone(callId, selected.map(({ id }) => id).filter((id) => !notUndone.has(id)))
    return {
      ...report, applied: true, notEmpty: left.map(shown),
      failed: failed.map(({ call: of, tool, message }) => ({ call: of, tool, message })),
    }
  })
}

function readUndoRequest(given: Json | undefined): UndoRequest {
  const { call, turn, session, dryRun, force } = isJsonObject(given) ? given : {} as JsonObject
  return {
    ...(typeof call === 'string' && { call }), ...(typeof turn === 'number' && { turn }),
    ...(session === true && { session }), dryRun: dryRun === true, force: force === true,
  }
}

interface LocatedChain {
  readonly chain: Chain
  readonly resolved: ResolvedPath
}

const LED_AWAY = 'a folder above it is a link now'

/**
 * A diff shows the content of a file, so an undo also needs the right to read. A link that is there now is not
 * followed: what it leads to is another file.
 */
async function locateAll(chains: readonly Chain[], { scopes: { read, write } }: UndoParts) {
  const located = new Map<string, LocatedChain>()
  const denied: StuckFile[] = []
  for (const chain of chains) {
    try {
      await read.locateName(chain.path)
      const resolved = await write.locateName(chain.path)
      if (write.isAt(chain.path, resolved.real)) located.set(chain.path, { chain, resolved })
      else denied.push(stuckAt(chain, LED_AWAY))
    } catch (error) {
      denied.push(stuckAt(chain, messageOf(error)))
    }
  }
  return { located, denied }
}

const TOO_LONG = 'it is too long to be recorded, so this undo could not be undone'
const GONE = 'its content is no longer recorded'

async function planAll(located: ReadonlyMap<string, LocatedChain>, parts: UndoParts) {
  const steps: PlannedStep[] = []
  const gone: StuckFile[] = []
  for (const { chain, resolved } of located.values()) {
    const { state } = await currentOf(resolved, parts.scopes.write, parts.client)
    const step = planStep(chain, state)
    if (step === undefined) continue
    const { target, current } = step
    if (target.kind === 'file' && target.digest === null) {
      gone.push(stuckAt(chain, `it had ${target.size} bytes, and its content was not recorded`))
    } else if (target.kind === 'file' && await parts.access.content(target.digest!) === undefined) {
      gone.push(stuckAt(chain, GONE))
    } else {
      steps.push(current.kind === 'file' && current.digest === null ? { ...step, lost: TOO_LONG } : step)
    }
  }
  return { steps, gone }
}

function actionOf({ current, target }: PlannedStep): 'restore' | 'remove' | 'recreate' {
  if (target.kind === 'absent') return 'remove'
  return current.kind === 'absent' ? 'recreate' : 'restore'
}

/** More files are not shown. */
const DIFF_CHARS = 256 * 1024

async function diffOf(
  steps: readonly PlannedStep[], parts: UndoParts, shown: (path: string) => string,
): Promise<string> {
  let diff = ''
  for (const { path, current, target } of steps) {
    if (diff.length > DIFF_CHARS) return `${diff}[The diffs of further files are not shown.]\n`
    if (current.kind === 'folder' || target.kind === 'folder') continue
    if (current.kind === 'link' || target.kind === 'link') {
      diff += `Link ${shown(path)}: ${linkText(current)} before, ${linkText(target)} after\n`
      continue
    }
    const resolved = await parts.scopes.write.locateName(path)
    const { content } = await currentOf(resolved, parts.scopes.write, parts.client)
    const kept = target.kind === 'file' && target.digest !== null
      ? await parts.access.content(target.digest) : undefined
    diff += lineDiff(shown(path), content && Buffer.from(content), kept && Buffer.from(kept))
  }
  return diff
}

const linkText = (state: FileState): string =>
  state.kind === 'link' ? `to ${state.target}` : state.kind === 'absent' ? 'nothing' : `a ${state.kind}`

/** The latest first. Resolves with those that failed. */
async function revertAll(effects: readonly RecordedChange[], callId: string, { access }: UndoParts) {
  const failed: { readonly id: number; readonly call: string; readonly tool: string; readonly message: string }[] = []
  for (const effect of effects) {
    const message = await access.revert(callId, effect)
      .then((outcome) => outcome.type === 'output' ? undefined : outcome.error_text, messageOf)
    if (message !== undefined) failed.push({ id: effect.id, call: effect.callId, tool: effect.tool, message })
  }
  return failed
}

/** Named in the message. All are in the data. */
const MOST_NAMED = 20

function conflict(lost: readonly Loss[], isUndone: boolean): BulkheadError {
  const named = lost.slice(0, MOST_NAMED).map(({ path, reason }) => `- ${path}: ${reason}`)
  const more = lost.length > MOST_NAMED ? [`- and ${lost.length - MOST_NAMED} more`] : []
  const message = [
    `${isUndone ? 'It is already undone. ' : ''}Nothing was undone, because this would be lost or cannot be put back:`,
    ...named, ...more,
    'Look at it with a dry run. To undo anyway, use force.',
  ].join('\n')
  return new BulkheadError('UndoConflict', message, { data: { lost: lost as unknown as Json } })
}
