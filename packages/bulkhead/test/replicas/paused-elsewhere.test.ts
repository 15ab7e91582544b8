import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'
import { type Replica, ReplicaProcess, startReplica } from './replica.ts'

const CONFIG = IN_THREADS
const WRITE = { path: 'log.txt', content: 'one' }

let folder: string
const replicas: Replica[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-paused-'))
  writeExtension(join(folder, 'home'), {
    id: 'asks', tools: [{ name: 'asks', requires: { capabilities: ['interact'] }, gated: false }],
  }, `export default { tools: {
    asks: { execute: async (_, runtime) => ({ answer: await runtime.interact.ask('Which harbour?') }) },
  } }`)
})
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((one) => one.end()))
  rmSync(folder, { recursive: true, force: true })
})

async function opened(options: object = { pause: true }, start = startReplica): Promise<Replica> {
  const one = await start(folder, CONFIG)
  replicas.push(one)
  await one.ask('open', options)
  return one
}

const settled = async (answers: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(answers)).map((one) => one.status === 'rejected'
    ? (one.reason as Error).message : (one.value as { error?: { code: string } }).error?.code ?? 'ok')

it('a question that one host paused is answered in another while the first one lives, and once', async () => {
  const a = await opened({ pause: true, mode: 'yolo' })
  const [b, c] = [await opened({ mode: 'yolo' }), await opened({ mode: 'yolo' })]
  expect(await a.ask('call', 'q', 'asks', {})).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  const [paused] = await b.ask('paused')
  expect(paused).toMatchObject({ status: 'clarification_needed', question: { prompt: 'Which harbour?' } })
  const results = await settled([a, b, c].map((host, index) => host.ask('answer', paused.id, `Oslo ${index}`)))
  expect(results.toSorted()).toEqual(['InteractionAlreadyAnswered', 'InteractionAlreadyAnswered', 'ok'])
  await expect(a.ask('answer', paused.id, 'Bergen')).rejects.toThrow('InteractionAlreadyAnswered')
  expect(await c.ask('paused')).toEqual([])
})

it('an approval that one host paused is given in another after kill -9, for one call', async () => {
  const a = await opened({ pause: true }, ReplicaProcess.start)
  expect(await a.ask('call', 'w', 'write', WRITE)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  expect(existsSync(join(folder, 'log.txt'))).toBe(false)
  await a.end()
  const [b, c] = [await opened(), await opened()]
  const [paused] = await b.ask('paused')
  expect(paused).toMatchObject({ question: { kind: 'Approve', approval: { tool: 'write', approvalKey: 'log.txt' } } })
  await expect(b.ask('answer', paused.id, 'maybe')).rejects.toThrow('InputInvalid')
  const results = await settled([b, c].map((host) => host.ask('answer', paused.id, { decision: 'once' })))
  expect(results.toSorted()).toEqual(['InteractionAlreadyAnswered', 'ok'])
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe('one')
  // It was for one call.
  expect(await b.ask('call', 'w2', 'write', WRITE)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
})

it('an approval is asked for again if what the person saw has changed', async () => {
  writeFileSync(join(folder, 'log.txt'), 'before\n')
  const a = await opened()
  await a.ask('call', 'r', 'read', { path: 'log.txt' })
  const edit = { path: 'log.txt', content: 'after\n' }
  expect(await a.ask('call', 'w', 'write', edit)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  const [paused] = await a.ask('paused')
  writeFileSync(join(folder, 'log.txt'), 'changed by another\n')
  const b = await opened()
  const again = await b.ask('answer', paused.id, { decision: 'once' })
  expect(again).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe('changed by another\n')
  expect(await b.ask('answer', paused.id, { decision: 'reject' })).toMatchObject({ error: { code: 'ApprovalDenied' } })
  expect(await b.ask('paused')).toEqual([])
})
