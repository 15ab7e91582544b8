import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewChange, Notes } from '@bulkhead/contract'
import { storeGroup } from './store-bench.ts'
import { settle, unlessRejected, unlessSame } from './verify.ts'

// What a store keeps about running work: notes of open calls, and what calls changed.

const left = async (notes: Notes, owner: string): Promise<readonly string[]> => (await notes.left(owner)).toSorted()

const NOTES_SPEC = 'docs/guides/sessions.md'
export const NOTES = storeGroup([
  {
    id: 'store-notes', level: 'must', spec: NOTES_SPEC,
    statement: 'A note that was saved is found by another host, until it is dropped. An id may be used again.',
    why: 'The next host learns which calls were interrupted.',
    cure: 'Write what was put and dropped since the last `save` before it returns.',
    async check({ shared }) {
      const [here, there] = await shared()
      if (!here.notes || !there.notes) return undefined
      const notebook = await here.notes.open('a/b 1')
      await notebook.put(1, '{"one":1}')
      await notebook.put(2, 'two')
      await notebook.put(3, 'three')
      await notebook.drop(3)
      await notebook.drop(3)
      await notebook.save()
      const first = [await there.notes.owners(), await left(there.notes, 'a/b 1'), await left(there.notes, 'a')]
      await notebook.drop(1)
      await notebook.put(1, 'again')
      await notebook.save()
      await notebook.drop(2)
      await notebook.save()
      return unlessSame(first, [['a/b 1'], ['two', '{"one":1}'], []])
        ?? unlessSame(await left(there.notes, 'a/b 1'), ['again'], 'after a drop it')
    },
  },
  {
    id: 'store-notes-soon', level: 'must', spec: NOTES_SPEC,
    statement: 'What is put and dropped is saved soon, also without `save`.',
    why: 'A host that waits for nothing else must not lose its notes.',
    cure: 'Start a timer with the first change.',
    async check({ shared, patienceMs }) {
      const [here, there] = await shared()
      if (!here.notes || !there.notes) return undefined
      const notebook = await here.notes.open('me')
      await notebook.put(1, 'one')
      await notebook.put(2, 'two')
      await notebook.drop(1)
      const put = await within(patienceMs, async () => (await left(there.notes!, 'me')).join() === 'two')
      await notebook.drop(2)
      const dropped = await within(patienceMs, async () => (await left(there.notes!, 'me')).length === 0)
      return put && dropped ? undefined : 'it was not saved'
    },
  },
  {
    id: 'store-notes-name', level: 'must', spec: NOTES_SPEC,
    statement: 'A second notebook of the same owner is refused with StoreUnavailable, and changes nothing.',
    why: 'Two hosts would drop the notes of each other.',
    cure: 'Create what holds the notes of an owner exclusively.',
    async check({ shared, patienceMs }) {
      const [here, there] = await shared()
      if (!here.notes || !there.notes) return undefined
      const mine = await here.notes.open('me')
      await mine.put(1, 'mine')
      await mine.save()
      const second = await settle(async () => {
        const notebook = await there.notes!.open('me')
        await notebook.put(1, 'other')
        await notebook.save()
      }, { patienceMs })
      return unlessRejected(second, 'StoreUnavailable') ?? unlessSame(await left(there.notes, 'me'), ['mine'])
    },
  },
  {
    id: 'store-notes-discard', level: 'must', spec: NOTES_SPEC,
    statement: 'The notes of a closed store stay for the next host, until that discards them.',
    why: 'The next host reports the calls, once.',
    cure: 'Remove an owner with discard, and when a store without notes closes.',
    async check({ fresh, again }) {
      const store = await fresh()
      for (const owner of ['idle', 'busy']) {
        const notebook = await store.notes?.open(owner)
        await notebook?.put(1, owner)
        await notebook?.save()
        if (owner === 'idle') await notebook?.drop(1)
      }
      await store.close()
      const notes = (await again(store))?.notes
      if (!notes) return undefined
      const found = [await notes.owners(), await left(notes, 'busy')]
      await notes.discard('busy')
      return unlessSame(found, [['busy'], ['busy']]) ?? unlessSame(await notes.owners(), [], 'the list of owners')
    },
  },
])

/** Whether something comes true in time. */
async function within(patienceMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + patienceMs
  while (!await isTrue()) {
    if (performance.now() > end) return false
    await sleep(10)
  }
  return true
}

const SOURCE = { workspace: '/a', sessionId: 's', turn: 1, callId: 'c', rootCallId: 'c', tool: 'write' }
const CONTENT = Buffer.from('before')
const DIGEST = hash('sha256', CONTENT)
const REPLACED: NewChange = {
  ...SOURCE, kind: 'file', path: '/a/file', after: { kind: 'absent' },
  before: { kind: 'file', digest: DIGEST, size: CONTENT.length, mode: 0o644 },
}
const COMMAND: NewChange = { ...SOURCE, kind: 'command', command: 'make' }
const DELEGATED: NewChange = {
  ...COMMAND, sessionId: 'sub', delegatedBy: [{ sessionId: 't', turn: 1, callId: 'd' }],
}

const UNDO_SPEC = 'docs/guides/undo.md'
export const CHANGES = storeGroup([
  {
    id: 'store-changes', level: 'must', spec: UNDO_SPEC,
    statement: 'Changes are listed as they were added, with increasing ids, for all hosts at once.',
    why: 'They are undone from the last to the first.',
    cure: 'Store each change with an id before `add` resolves.',
    async check({ shared }) {
      const [here, there] = await shared()
      if (!here.changes || !there.changes) return undefined
      const first = await here.changes.add(REPLACED, CONTENT)
      const second = await there.changes.add(COMMAND)
      const third = await here.changes.add(DELEGATED)
      const listed = await there.changes.list({})
      return unlessSame(listed.map(({ at: _, ...change }) => change), [
        { ...REPLACED, id: first }, { ...COMMAND, id: second }, { ...DELEGATED, id: third },
      ]) ?? (first < second && second < third ? undefined : `the ids are ${first}, ${second}, ${third}`)
        ?? (listed.every(({ at }) => Number.isInteger(at)) ? undefined : 'a change has no time')
    },
  },
  {
    id: 'store-changes-filter', level: 'must', spec: UNDO_SPEC,
    statement: 'Changes are found by session with its sub-agents, by workspace, and after an id.',
    why: 'An undo of a session must find all of its changes, and no others.',
    cure: 'Store a change of a sub-agent under the session of the outermost call in `delegatedBy`.',
    async check({ fresh }) {
      const { changes } = await fresh()
      if (!changes) return undefined
      const ids: number[] = []
      for (const change of [COMMAND, { ...COMMAND, workspace: '/b' }, DELEGATED]) ids.push(await changes.add(change))
      const filters = [
        { sessionId: 's' }, { sessionId: 't' }, { sessionId: 'sub' }, { workspace: '/a' }, { after: ids[1]! },
        { sessionId: 's', workspace: '/b' },
      ]
      const found = await Promise.all(filters.map(async (filter) =>
        (await changes.list(filter)).map(({ id }) => ids.indexOf(id))))
      return unlessSame(found, [[0, 1], [2], [], [0, 2], [2], [1]], 'the list of changes found by each filter')
    },
  },
  {
    id: 'store-changes-content', level: 'must', spec: UNDO_SPEC,
    statement: 'The content that a change replaced, or of an effect, is found by its SHA-256.',
    why: 'An undo writes it back.',
    cure: 'Store the bytes by digest, once.',
    async check({ shared }) {
      const [here, there] = await shared()
      if (!here.changes || !there.changes) return undefined
      const effect = Buffer.from('{"arguments":{}}')
      await here.changes.add(REPLACED, CONTENT)
      await here.changes.add(REPLACED, CONTENT)
      await here.changes.add({ ...SOURCE, kind: 'effect', digest: hash('sha256', effect) }, effect)
      const digests = [DIGEST, hash('sha256', effect), hash('sha256', 'other')]
      const found = await Promise.all(digests.map((digest) => there.changes!.content(digest)))
      return unlessSame(
        found.map((bytes) => bytes && Buffer.from(bytes).toString()), [`${CONTENT}`, `${effect}`, undefined],
      )
    },
  },
])
