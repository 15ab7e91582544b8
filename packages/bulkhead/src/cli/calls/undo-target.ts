import { AGENT_TOOL, BulkheadError, type RecordedChange, type UndoSelection } from '@bulkhead/contract'
import { asDelegated, isReversible, undoneChanges } from '@bulkhead/host'
import { meantNames, visibleText } from '@bulkhead/kit/text'

export type ChangeState = 'done' | 'undone' | 'partly undone' | 'not undoable'

/** A call that changed something. */
export interface ChangedCall {
  readonly session: string
  readonly turn: number
  readonly call: string
  readonly tool: string
  /** ISO 8601. */
  readonly at: string
  /** Absolute paths of files, without folders. */
  readonly files: readonly string[]
  /** Those whose changes are recorded too. */
  readonly commands: readonly string[]
  readonly state: ChangeState
}

/** Latest first. */
export function changedCalls(recorded: readonly RecordedChange[]): readonly ChangedCall[] {
  // What sub-agents did belongs to the call that delegates to them.
  const all = recorded.map((change) => asDelegated(change, () => true))
  const bySession = Map.groupBy(all, ({ sessionId }) => sessionId)
  // An undo by the command line is a session of its own.
  const undone = undoneChanges(all)
  const calls = [...bySession.values()].flatMap((changes) =>
    [...Map.groupBy(changes, ({ rootCallId }) => rootCallId).values()])
    .filter(hasChanged)
  return calls.toSorted(([one], [other]) => other!.id - one!.id).map((changes) => {
    const [{ sessionId, turn, rootCallId, tool, at, delegatedBy }] = changes as [RecordedChange]
    return {
      session: sessionId, turn, call: rootCallId, tool: delegatedBy ? AGENT_TOOL : tool, at: new Date(at).toISOString(),
      files: [...new Set(changes.flatMap((change) =>
        change.kind === 'file' && [change.before, change.after].some(({ kind }) => kind === 'file' || kind === 'link')
          ? [change.path] : []))],
      commands: changes.flatMap((change) => change.kind === 'command' ? [change.command] : []),
      state: stateOf(changes.filter(isReversible).map(({ id }) => undone.has(id))),
    }
  })
}

/** Not an undo that found nothing to put back, and no command that is known to have changed nothing. */
function hasChanged(changes: readonly RecordedChange[]): boolean {
  const recorded = new Set(changes.map((change) => change.kind === 'recorded' ? change.command : undefined))
  return changes.some(({ kind, id }) => kind !== 'undo' && kind !== 'recorded' && !(kind === 'command' && recorded.has(id)))
}

function stateOf(undone: readonly boolean[]): ChangeState {
  if (undone.length === 0) return 'not undoable'
  if (undone.every(Boolean)) return 'undone'
  return undone.some(Boolean) ? 'partly undone' : 'done'
}

export interface UndoTarget {
  readonly session: string
  readonly selection: UndoSelection
}

/** A shorter beginning of a session id is probably a typing error. */
const LEAST_CHARS = 4
/** How much of a session id is shown. */
const SHOWN_CHARS = 8

export const shortTarget = ({ session, call }: Pick<ChangedCall, 'session' | 'call'>): string =>
  `${session.slice(0, SHOWN_CHARS)}/${call}`

/** In place of a call. A call with this id is named with its session. */
export const LAST = 'last'

export const targetOf = ({ session, call }: Pick<ChangedCall, 'session' | 'call'>): UndoTarget =>
  ({ session, selection: { call } })

/** Something of it can be put back, and it is no undo itself. */
export const isUndoable = ({ tool, state }: ChangedCall): boolean =>
  tool !== 'undo' && (state === 'done' || state === 'partly undone')

/** The last call that can be undone and is no undo itself, so that the next one goes further back. Throws NotFound. */
export function lastCall(calls: readonly ChangedCall[]): ChangedCall {
  const last = calls.find(isUndoable)
  if (last !== undefined) return last
  const message = 'There is no call to undo here: each is already undone, or cannot be undone.'
  throw new BulkheadError('NotFound', `${message} Run "bulkhead undo" for the list.`)
}

/**
 * `SESSION/CALL`, `SESSION:TURN`, a session or a call. The beginning of a session is enough. Throws NotFound with the
 * nearest names, or with all that are meant.
 */
export function readTarget(text: string, calls: readonly ChangedCall[]): UndoTarget {
  const sessions = [...new Set(calls.map(({ session }) => session))]
  const begun = (start: string): readonly string[] =>
    start.length < LEAST_CHARS ? [] : sessions.filter((session) => session.startsWith(start))
  const slash = text.indexOf('/')
  const turn = /^([^:/]+):(\d+)$/.exec(text)
  const named = calls.filter(({ call }) => call === text)
  const found: readonly UndoTarget[] = [
    ...named.map(targetOf),
    ...(slash < 0 ? [] : calls.filter(({ session, call }) =>
      begun(text.slice(0, slash)).includes(session) && call === text.slice(slash + 1))
      .map(targetOf)),
    ...(turn ? begun(turn[1]!).map((session) => ({ session, selection: { turn: Number(turn[2]) } })) : []),
    ...(named.length > 0 ? [] : begun(text).map((session) => ({ session, selection: { session: true } }))),
  ]
  if (found.length === 1) return found[0]!
  const names = [...new Set(calls.flatMap((one) => [one.call, shortTarget(one), one.session]))]
  const message = found.length === 0
    ? `No call, turn or session "${visibleText(text)}" changed something here.${meantNames(text, names)}`
    : `"${visibleText(text)}" is in ${found.length} sessions. Name one of them: `
      + `${found.slice(0, 5).map(({ session }) => visibleText(shortTarget({ session, call: text }))).join(', ')}.`
  throw new BulkheadError('NotFound', `${message} Run "bulkhead undo" for the list.`)
}
