import {
  BulkheadError, type ChangeSource, type ChangeStore, type CompartmentServices, type ExtensionDescriptor, type Outcome,
  type RecordedChange, type Store, type UndoAccess,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { changeSource } from '../calls/record-effect.ts'
import type { RunningCall } from '../calls/running-call.ts'
import type { RunningCalls } from '../extensions/running-calls.ts'
import { readEffect } from '../records/effects.ts'
import { areUndone, selectChanges, sessionChanges, undoneChanges } from '../records/undo-selection.ts'

export interface ChangeSources {
  readonly store: Pick<Store, 'changes'>
  readonly workspace: string
  readonly descriptor: Pick<ExtensionDescriptor, 'id' | 'layer'>
  readonly running: Pick<RunningCalls<RunningCall>, 'get'>
  readonly callTool: (
    by: RunningCall, call: { readonly name: string; readonly arguments: JsonObject }, signal: AbortSignal,
    isProgram: boolean, reverts: { readonly result: Json },
  ) => Promise<Outcome>
}

/** Records the changes of calls, if the store keeps them, and lets the bundled tool `undo` put them back. */
export function changeServices(sources: ChangeSources): Pick<CompartmentServices, 'changes' | 'undo'> {
  const { store: { changes }, descriptor: { id, layer } } = sources
  if (changes === undefined) return {}
  const addFor = async (source: ChangeSource, ...[change, content]: AddedChange): Promise<number> => {
    try {
      return await changes.add({ ...source, ...change }, content)
    } catch (error) {
      throw unrecorded(error)
    }
  }
  const add = async (callId: string, ...added: AddedChange): Promise<void> => {
    await addFor(sourceOf(callId, sources), ...added)
  }
  return {
    changes: {
      file: (callId, { content, ...change }) => add(callId, { kind: 'file', ...change }, content),
      async command(callId, command) {
        const source = sourceOf(callId, sources)
        const number = await addFor(source, { kind: 'command', command })
        return {
          others: async () => (await changes.list({ workspace: sources.workspace, after: number }))
            .filter((change) => change.kind === 'file'),
          file: async ({ content, ...change }) => void await addFor(source, { kind: 'file', ...change }, content),
          complete: async () => void await addFor(source, { kind: 'recorded', command: number }),
        }
      },
      undone: (callId, undoes) => add(callId, { kind: 'undo', undoes }),
    },
    ...(layer === 'bundled' && id === 'undo' && { undo: undoAccess(changes, sources) }),
  }
}

type WithoutSource<Change> = Change extends unknown ? Omit<Change, keyof ChangeSource> : never
type AddedChange = [
  change: WithoutSource<Parameters<ChangeStore['add']>[0]>, content?: Parameters<ChangeStore['add']>[1],
]

/** The changes of the session of a call. No tool reaches those of another one. */
function undoAccess(changes: ChangeStore, sources: ChangeSources): UndoAccess {
  return {
    async select(callId, selection) {
      const { call: { session, parent, program } } = runningCall(callId, sources)
      if (parent !== undefined && program === undefined) {
        throw new BulkheadError(
          'CapabilityDenied', 'A tool cannot undo changes of the session. Only the model and its programs can.',
        )
      }
      const { own, all } = await sessionChanges(changes, session, sources.workspace)
      const undone = undoneChanges(all)
      // An effect is reverted once. Files are compared instead.
      const isOpen = ({ kind, id }: RecordedChange): boolean => kind !== 'effect' || !undone.has(id)
      const selected = selectChanges(own, selection, undone)
      return { all, selected: selected.filter(isOpen), isUndone: areUndone(selected, undone) }
    },
    content: (digest) => changes.content(digest),
    async revert(callId, effect) {
      const running = runningCall(callId, sources)
      const { args, result } = await readEffect(changes, effect.kind === 'effect' ? effect.digest : '')
      return sources.callTool(running, { name: effect.tool, arguments: args }, running.signal, true, { result })
    },
  }
}

const sourceOf = (callId: string, sources: ChangeSources): ChangeSource =>
  changeSource(runningCall(callId, sources).call, sources.workspace)

function runningCall(callId: string, { running, descriptor: { id } }: ChangeSources): RunningCall {
  const current = running.get(callId)
  if (current) return current
  throw new BulkheadError(
    'CapabilityDenied', `The extension "${id}" changed something outside of a call. Await it before the call ends.`,
  )
}

/** Then the change is not made: what it replaces would be lost. */
function unrecorded(error: unknown): BulkheadError {
  const { data } = BulkheadError.from(error)
  const message = `Nothing was changed, because what the call replaces cannot be recorded for undo: ${messageOf(error)}`
  return new BulkheadError('StoreUnavailable', message, { cause: error, ...(data !== undefined && { data }) })
}
