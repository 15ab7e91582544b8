import {
  BulkheadError, type ChangeStore, type DelegatingCall, type RecordedChange, type UndoSelection,
} from '@bulkhead/contract'
import { meantNames, visibleText } from '@bulkhead/kit/text'

/** The changes that a completed undo has put back. An undo that is undone counts no more. Oldest first. */
export function undoneChanges(all: readonly RecordedChange[]): ReadonlySet<number> {
  const targets = new Map(all.flatMap((change) => change.kind === 'undo' ? [[change.id, change.undoes ?? []]] : []))
  const undone = new Set<number>()
  for (const completed of targets.values()) {
    // An undo refers to older changes only, so this ends.
    const open = completed.map((id) => ({ id, isUndone: true }))
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { id, isUndone } = next
      if (isUndone) undone.add(id)
      else undone.delete(id)
      open.push(...(targets.get(id) ?? []).map((target) => ({ id: target, isUndone: !isUndone })))
    }
  }
  return undone
}

/** Whether undo can put something back. It cannot if the content was not recorded. */
export const isReversible = (change: RecordedChange): boolean => change.kind === 'effect'
  || (change.kind === 'file' && !(change.before.kind === 'file' && change.before.digest === null))

/** Whether all of these that can be put back are undone. False if none can. */
export function areUndone(changes: readonly RecordedChange[], undone: ReadonlySet<number>): boolean {
  const reversible = changes.filter(isReversible)
  return reversible.length > 0 && reversible.every(({ id }) => undone.has(id))
}

/** Of the changes of a session, those to undo. `undone`: changes that are undone. Throws NotFound. */
export function selectChanges(
  all: readonly RecordedChange[], { call, turn, session = false }: UndoSelection, undone: ReadonlySet<number>,
): readonly RecordedChange[] {
  if ([call, turn, session || undefined].filter((given) => given !== undefined).length > 1) {
    throw new BulkheadError('InputInvalid', 'Give only one of call, turn and session.')
  }
  if (call !== undefined) {
    const found = all.filter(({ callId, rootCallId }) => callId === call || rootCallId === call)
    return found.length > 0 ? found : missing(`The call "${visibleText(call)}" changed nothing that is recorded.`
      + meantNames(call, new Set(all.map(({ rootCallId }) => rootCallId))))
  }
  if (turn !== undefined) {
    const found = all.filter((change) => change.turn === turn)
    const turns = [...new Set(all.map((change) => change.turn))].filter((number) => number > 0)
    const known = turns.length === 0 ? '' : ` Turns with changes: ${turns.join(', ')}.`
    return found.length > 0 ? found : missing(`Turn ${turn} changed nothing that is recorded.${known}`)
  }
  if (session) return all.length > 0 ? all : missing('The session changed nothing that is recorded.')
  const undos = new Set(all.filter(({ kind }) => kind === 'undo').map(({ callId }) => callId))
  const last = all.findLast((change) =>
    isReversible(change) && !undone.has(change.id) && change.undoes === undefined && !undos.has(change.callId))
  if (last === undefined) return missing('There is no call to undo: none has changed something that is not undone.')
  return all.filter(({ rootCallId }) => rootCallId === last.rootCallId)
}

function missing(message: string): never {
  throw new BulkheadError('NotFound', message)
}

/**
 * A change of a sub-agent, as one of the call that delegates to it in a session with `isOwn`. Its own call is named
 * after that one: `CALL/CALL`. Other changes as they are.
 */
export function asDelegated(change: RecordedChange, isOwn: (sessionId: string) => boolean): RecordedChange {
  const { delegatedBy = [] } = change
  const path = delegatedBy.slice(delegatedBy.findIndex(({ sessionId }) => isOwn(sessionId)))
  const [by] = path
  if (by === undefined || !isOwn(by.sessionId)) return change
  const callId = [...path, change].map((call) => call.callId).join('/')
  return { ...change, sessionId: by.sessionId, turn: by.turn, rootCallId: by.callId, callId }
}

export interface ChangedSession {
  readonly id: string
  readonly continues: string | undefined
  readonly delegatedBy: readonly DelegatingCall[]
}

/**
 * The changes of a session, of its sub-agents and of the session that it continues; and all of the workspace since the
 * first of them.
 */
export async function sessionChanges(
  changes: ChangeStore, { id, continues, delegatedBy }: ChangedSession, workspace: string,
): Promise<Readonly<Record<'own' | 'all', readonly RecordedChange[]>>> {
  const isOwn = (sessionId: string): boolean => sessionId === id || sessionId === continues
  const outermost = delegatedBy[0]?.sessionId ?? id
  const sessions = [outermost, ...(continues === undefined ? [] : [continues])]
  const own = (await Promise.all(sessions.map((sessionId) => changes.list({ sessionId })))).flat()
    .map((change) => asDelegated(change, isOwn)).filter(({ sessionId }) => isOwn(sessionId))
    .toSorted((one, other) => one.id - other.id)
  if (own.length === 0) return { own, all: [] }
  // Other sessions may have changed the same files, or have undone this one.
  const all = await changes.list({ workspace, after: own[0]!.id - 1 })
  return { own, all: all.map((change) => asDelegated(change, isOwn)) }
}
