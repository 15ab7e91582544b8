import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'
import { type Replica, ReplicaProcess, startReplica } from './replica.ts'

const WRITE = { path: 'log.txt', content: 'one' }

let folder: string
const replicas: Replica[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-questions-'))
  const requires = { capabilities: ['interact' as const], fs: { write: ['{workspace}/**'] } }
  const tools = [
    { name: 'asks', requires, gated: false }, { name: 'acts_and_asks', requires, gated: false },
    { name: 'steps_and_asks', requires, gated: false },
  ]
  writeExtension(join(folder, 'home'), { id: 'asks', tools }, `
    const ask = async (runtime) => ({ answer: await runtime.interact.ask('Which harbour?') })
    const act = (runtime) => runtime.fs.write('acted.txt', runtime.callId)
    export default { tools: {
      asks: { execute: (_, runtime) => ask(runtime) },
      acts_and_asks: { async execute(_, runtime) {
        await act(runtime)
        return ask(runtime)
      } },
      steps_and_asks: { async execute(_, runtime) {
        await runtime.step('act', () => act(runtime))
        return ask(runtime)
      } },
    } }`)
})
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((one) => one.end()))
  rmSync(folder, { recursive: true, force: true })
})

async function replica(start = startReplica): Promise<Replica> {
  const one = await start(folder, IN_THREADS)
  replicas.push(one)
  return one
}

const CALLS = [
  ['call', 'w', 'write', WRITE], ['call', 'q', 'asks', {}], ['call', 's', 'steps_and_asks', {}],
  ['call', 'a', 'acts_and_asks', {}], ['keyed', 'k', 'asks', {}, 'key-1'],
] as const

// One host for all of it, because a process takes more than a second of CPU time to start.
it('questions in a session without pause stay open when its host dies, and calls go on in another', LONG, async () => {
  const [a, b] = [await replica(ReplicaProcess.start), await replica()]
  const ids: string[] = []
  for (const [method, ...args] of CALLS) {
    // The person is asked by the tool only.
    ids.push(await a.ask('openWaiting', args[1] === 'write' ? {} : { mode: 'yolo' }))
    void a.ask(method, ...args).catch(() => undefined)
    await expect.poll(() => b.ask('waiting')).toHaveLength(ids.length)
    if (args[1] === 'acts_and_asks') expect(readFileSync(join(folder, 'acted.txt'), 'utf8')).toBe('a')
  }
  // As long as its host lives, a question is for the person there.
  expect(await b.ask('paused')).toEqual([])
  await a.end()

  // A question in a call that had begun something goes with its host, and the outcome is unknown.
  const waiting: { id: string; callId: string; paused?: true }[] = await b.ask('waiting')
  expect(waiting.map(({ callId, paused }) => [callId, paused]))
    .toEqual([['w', true], ['q', true], ['s', true], ['k', true]])
  await expect.poll(() => b.ask('interrupted'))
    .toMatchObject([{ outcome: { error: { code: 'OutcomeUnknown' }, metadata: { call_id: 'a' } } }])
  const acted = readFileSync(join(folder, 'acted.txt'), 'utf8')

  // The calls go on.
  const paused: { id: string; sessionId: string; call: { id: string } }[] = await b.ask('paused')
  expect(paused.map(({ call, sessionId }) => [call.id, sessionId]).toSorted())
    .toEqual([['k', ids[4]], ['q', ids[1]], ['s', ids[2]], ['w', ids[0]]])
  const idOf = (call: string): string => paused.find((one) => one.call.id === call)!.id
  await b.ask('resume', ids[0])
  expect(existsSync(join(folder, 'log.txt'))).toBe(false)
  expect(await b.ask('answer', idOf('w'), { decision: 'once' })).toMatchObject({ type: 'output' })
  expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toBe('one')
  await b.ask('resume', ids[1])
  expect(await b.ask('answer', idOf('q'), 'Oslo')).toMatchObject({ data: { answer: 'Oslo' } })
  await expect(b.ask('answer', idOf('q'), 'Bergen')).rejects.toThrow('InteractionAlreadyAnswered')
  await b.ask('resume', ids[2])
  expect(await b.ask('answer', idOf('s'), 'Bergen')).toMatchObject({ data: { answer: 'Bergen' } })
  expect(readFileSync(join(folder, 'acted.txt'), 'utf8')).toBe(acted)

  // An answer from any process counts, also for the idempotency key.
  expect(await b.ask('answerAnywhere', waiting.at(-1)!.id, 'Oslo')).toBe('stored')
  await b.ask('resume', ids[4])
  expect(await b.ask('keyed', 'k2', 'asks', {}, 'key-1')).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  expect(await b.ask('answer', idOf('k'))).toMatchObject({ data: { answer: 'Oslo' } })
  expect(await b.ask('keyed', 'k3', 'asks', {}, 'key-1')).toMatchObject({ data: { answer: 'Oslo' } })

  expect(await b.ask('paused')).toEqual([])
  // They were not interrupted: they waited.
  const ends: { errorCode?: string; callId: string }[] = (await b.ask('records'))
    .filter(({ errorCode }: { errorCode?: string }) => errorCode !== undefined)
  expect(new Set(ends.filter(({ callId }) => callId !== 'a').map(({ errorCode }) => errorCode)))
    .toEqual(new Set(['ClarificationNeeded']))
})

it('nothing stays open of a question that was answered, refused or cancelled where it was asked', async () => {
  const a = await replica()
  for (const [decision, code] of [['once', undefined], ['reject', 'ApprovalDenied']] as const) {
    await a.ask('openWaiting', {})
    const call = a.ask('call', `w-${decision}`, 'write', WRITE)
    await expect.poll(() => a.ask('waiting')).toHaveLength(1)
    const [question] = await a.ask('waiting')
    await a.ask('answerAnywhere', question.id, { decision })
    expect((await call).error?.code).toBe(code)
    await a.ask('closeSession')
  }
  await a.ask('openWaiting', { mode: 'yolo' })
  const cancelled = a.ask('call', 'c', 'asks', {})
  await expect.poll(() => a.ask('waiting')).toHaveLength(1)
  await a.ask('closeSession')
  expect(await cancelled).toMatchObject({ type: 'error' })
  await a.end()
  replicas.splice(0)
  const b = await replica()
  expect([await b.ask('paused'), await b.ask('waiting')]).toEqual([[], []])
})
