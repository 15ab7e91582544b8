import { hash } from 'node:crypto'
import { BulkheadError, type Store } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import {
  callKey, headKey, HEADS, partsOf, readCall, readHead, removeRecorded, valueKey, type RecordedCall, type RecordedSession,
  type RecordedValue,
} from './recording-forms.ts'

/** A recorded session with its calls, in the order in which they were proposed. */
export interface Recording extends RecordedSession {
  readonly recorded: readonly RecordedCall[]
}

export interface PurgeFilter {
  /** Ids of sessions. Default: all. */
  readonly ids?: readonly string[]
  /** Those without a call since, in milliseconds since 1970. */
  readonly before?: number
}

/** The recorded sessions in a store. Every method rejects with StoreUnavailable. */
export interface RecordingBook {
  /** The latest first. */
  list(): Promise<readonly RecordedSession[]>
  /** `id`: also the beginning of one. Rejects with NotFound. */
  read(id: string): Promise<Recording>
  /** Removes recorded sessions. Resolves with their ids. */
  purge(filter?: PurgeFilter): Promise<readonly string[]>
}

export function openRecordings(store: Pick<Store, 'read' | 'list' | 'remove'>): RecordingBook {
  const list = async (): Promise<readonly RecordedSession[]> =>
    (await store.list('recording', HEADS)).flatMap(({ value }) => readHead(value) ?? [])
      .toSorted((a, b) => a.lastAt < b.lastAt ? 1 : -1)
  return {
    list,
    async read(given) {
      const head = readHead(await store.read('recording', headKey(given))) ?? begunWith(given, await list())
      const { id } = head
      const values = valueKey(id, '')
      const parts = await store.list('recording', partsOf(id))
      const byDigest = new Map(parts.flatMap(({ key, value, damage }) =>
        key.startsWith(values) && damage === undefined && values + digestOf(value) === key
          ? [[key.slice(values.length), value] as const] : []))
      const whole = ({ digest, bytes }: RecordedValue): RecordedValue =>
        ({ digest, bytes, ...(byDigest.has(digest) && { value: byDigest.get(digest)! }) })
      const recorded = parts.filter(({ key }) => key.startsWith(CALLS(id))).flatMap(({ value }): readonly RecordedCall[] => {
        const call = readCall(value)
        return call === undefined ? [] : [{ ...call, arguments: whole(call.arguments), outcome: whole(call.outcome) }]
      })
      return { ...head, recorded }
    },
    async purge({ ids, before = Infinity } = {}) {
      const old = (await list()).filter(({ id, lastAt }) => (ids?.includes(id) ?? true) && Date.parse(lastAt) < before)
      for (const { id } of old) await removeRecorded(store, id)
      return old.map(({ id }) => id)
    },
  }
}

const digestOf = (value: Json): string => hash('sha256', canonicalJson(value))

/** Shorter is probably a typing error. */
const LEAST_ID_CHARS = 4
/** Of the ids in lists of calls. */
const SHOWN_ID_CHARS = 8

/** The one session of which the id begins so. Throws NotFound. */
function begunWith(start: string, recorded: readonly RecordedSession[]): RecordedSession {
  const [found, ...others] = start.length < LEAST_ID_CHARS ? [] : recorded.filter(({ id }) => id.startsWith(start))
  if (found === undefined) throw notRecorded(start, recorded)
  if (others.length === 0) return found
  throw new BulkheadError(
    'NotFound', `${others.length + 1} recorded sessions have ids that start with ${visibleText(start)}. Give more characters.`,
    { data: { id: start } },
  )
}

const CALLS = (id: string): string => callKey(id, 0, 0).replace(/[^/]*$/, '')

function notRecorded(id: string, recorded: readonly RecordedSession[]): BulkheadError {
  const meant = meantNames(id, recorded.map((session) => session.id.slice(0, Math.max(id.length, SHOWN_ID_CHARS))))
  const how = recorded.length === 0
    ? 'No session is. To record sessions, set "record": true in your configuration.'
    : 'It was not recorded, or its time is over. To record sessions, set "record": true in your configuration.'
  const message = `The session "${visibleText(id)}" is not recorded.${meant} ${how}`
  return new BulkheadError('NotFound', message, { data: { id } })
}
