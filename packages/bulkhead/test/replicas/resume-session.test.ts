import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'
import { type Replica, ReplicaProcess, startReplica } from './replica.ts'

const CONFIG = IN_THREADS
const WRITE = { path: 'log.txt', content: 'one' }

let folder: string
const replicas: Replica[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-replicas-'))
  writeExtension(join(folder, 'home'), {
    id: 'asks', tools: [{ name: 'asks', requires: { capabilities: ['interact'] } }, { name: 'acts' }],
  }, `export default { tools: {
    asks: { execute: async (_, runtime) => ({ answer: await runtime.interact.ask('Which harbour?') }) },
    acts: { execute: () => ({ done: true }) },
  } }`)
})
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((one) => one.end()))
  rmSync(folder, { recursive: true, force: true })
})

async function replica(config: object = CONFIG, start = startReplica): Promise<Replica> {
  const one = await start(folder, config)
  replicas.push(one)
  return one
}

// One host for both sessions, because a process takes more than a second of CPU time to start.
it('sessions continue in another host after their host was killed, without what was revoked', LONG, async () => {
  const a = await replica(CONFIG, ReplicaProcess.start)
  const without = await a.ask('open', {}, { decision: 'session' })
  await a.ask('call', 'o', 'write', { path: 'other.txt', content: 'one' })
  const [approval] = await a.ask('approvalIds')
  expect(await a.ask('revoke', approval)).toBe(1)
  const principal = { id: 'ada' }
  const id = await a.ask('open', { principal, pause: true, budget: { calls: 8 } }, { decision: 'session' })
  expect(await a.ask('call', 'w1', 'write', WRITE)).toMatchObject({ type: 'output' })
  expect(await a.ask('asked')).toBe(2)
  await a.ask('call', 't', 'todo', { todos: [{ content: 'Weigh anchor', status: 'pending' }] })
  await a.ask('call', 'p', 'plan', { steps: [{ step: 'Sail' }], enter: true })
  expect(await a.ask('call', 'q', 'asks', {})).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  const approvals = await a.ask('approvals')
  expect(approvals).toContain('log.txt')
  const b = await replica()
  await expect(b.ask('resume', id, { principal })).rejects.toThrow('SessionActiveElsewhere')
  await a.end()
  await expect(b.ask('resume', id)).rejects.toThrow('NotFound')
  await expect(b.ask('resume', id, { principal: { id: 'bob' } })).rejects.toThrow('NotFound')
  expect(await b.ask('resume', id, { principal })).toBe(id)
  expect(await b.ask('approvals')).toEqual(approvals)
  const [paused] = await b.ask('paused')
  expect(paused).toMatchObject({ sessionId: id, call: { id: 'q' } })
  expect(await b.ask('answer', paused.id, 'Oslo')).toMatchObject({ data: { answer: 'Oslo' } })
  // In plan mode, as it was left.
  expect(await b.ask('call', 'w2', 'write', WRITE)).toMatchObject({ error: { code: 'WatchdogDenied' } })
  expect(await b.ask('call', 'p2', 'plan', {})).toMatchObject({ data: { steps: [{ step: 'Sail' }], planning: true } })
  expect(await b.ask('call', 'w1', 'acts', {})).toMatchObject({ error: { code: 'InputInvalid' } })
  // Four calls on A, and two here so far. Calls that are refused cost nothing.
  expect(await b.ask('call', 'a1', 'acts', {})).toMatchObject({ type: 'output' })
  expect(await b.ask('call', 'a2', 'acts', {})).toMatchObject({ type: 'output' })
  expect(await b.ask('call', 'a3', 'acts', {})).toMatchObject({ error: { code: 'BudgetExhausted' } })
  await b.ask('resume', without, {})
  expect(await b.ask('approvals')).toEqual([])
  expect(await b.ask('call', 'o2', 'write', { path: 'other.txt', content: 'two' }))
    .toMatchObject({ error: { code: 'ApprovalDenied' } })
})

it('a session that is resumed undoes what it changed in the host that has ended', async () => {
  writeFileSync(join(folder, 'log.txt'), 'before')
  const a = await replica()
  const id = await a.ask('open', {}, { decision: 'session' })
  await a.ask('call', 'r', 'read', { path: 'log.txt' })
  expect(await a.ask('call', 'w', 'write', WRITE)).toMatchObject({ type: 'output' })
  // The batch with the session is written.
  await a.ask('call', 't', 'todo', { todos: [] })
  await a.end()
  const b = await replica()
  await b.ask('resume', id, {}, { decision: 'once' })
  expect(await b.ask('call', 'u', 'undo', {})).toMatchObject({ type: 'output' })
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe('before')
})

it('rules of today apply to a session that is resumed', async () => {
  const a = await replica()
  const id = await a.ask('open', { mode: 'yolo' })
  expect(await a.ask('call', 'a1', 'acts', {})).toMatchObject({ type: 'output' })
  await a.ask('close')
  const b = await replica({ ...CONFIG, rules: [{ action: 'deny', tool: 'acts' }] })
  await b.ask('resume', id)
  expect(await b.ask('call', 'a2', 'acts', {})).toMatchObject({ error: { code: 'RuleDenied' } })
})

it('a session that its embedder closed cannot be resumed', async () => {
  const a = await replica()
  const id = await a.ask('open', {})
  await a.ask('call', 't', 'todo', { todos: [] })
  await a.ask('closeSession')
  await expect(a.ask('resume', id)).rejects.toThrow('NotFound')
  const b = await replica()
  await expect(b.ask('resume', id)).rejects.toThrow('NotFound')
})
