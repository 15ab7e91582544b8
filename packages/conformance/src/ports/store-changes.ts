import { hash } from 'node:crypto'
import type { NewChange } from '@bulkhead/contract'
import { storeGroup } from './store-bench.ts'
import { unlessSame } from './verify.ts'

// What calls changed, for undo.

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
