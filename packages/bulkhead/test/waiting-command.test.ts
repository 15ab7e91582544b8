import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError, type Store } from '@bulkhead/contract'
import { openQuestions, type WaitingQuestion } from '@bulkhead/host'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, createProgrammaticInteractor, openSqliteStore, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
let close: (() => Promise<unknown>)[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-waiting-')))
  close = []
})
afterEach(async () => {
  for (const one of close.toReversed()) await one()
  rmSync(folder, { recursive: true, force: true })
})

const home = () => join(folder, 'home/.bulkhead')
async function opened(): Promise<Host> {
  const store = await openSqliteStore({ file: join(home(), 'bulkhead.db') })
  const host = await createHost({ workspace: folder, home: home(), cache: CACHE, store, trust: 'declined', env: {} })
  close.push(() => host.close())
  return host
}
async function anotherStore(): Promise<Store> {
  const store = await openSqliteStore({ file: join(home(), 'bulkhead.db') })
  close.push(() => store.close())
  return store
}
async function asking(pause = false) {
  const host = await opened()
  const person = createProgrammaticInteractor()
  const session = await host.openSession({ pause, ...(pause ? {} : { interactor: person }) })
  const write = (path: string) => session.call({ id: path, name: 'write', arguments: { path, content: 'x' } })
  return { host, person, session, write }
}
const listed = async (): Promise<readonly WaitingQuestion[]> =>
  JSON.parse((await inside(['waiting', 'list', '--json'], folder)).stdout) as WaitingQuestion[]
const question = async () => {
  await expect.poll(async () => (await listed()).length).toBe(1)
  return (await listed())[0]!
}

it('another process lists, shows and answers a question', async () => {
  const { session, write, host } = await asking()
  const blocked: string[] = []
  host.on((event) => {
    if (event.type === 'BlockedOnPerson') blocked.push(...event.answers.map(({ words }) => words))
  }, ['BlockedOnPerson'])
  const outcome = write('src/a.txt')
  const { id } = await question()
  expect(blocked[0]).toBe('this call')
  expect((await inside(['waiting', 'list'], folder)).stdout)
    .toMatch(/^ID +WAITS +KIND .*\n[0-9a-f]{12} .* Approve .* write: /)
  expect((await inside(['waiting', 'show', id.slice(0, 8)], folder)).stdout)
    .toMatch(/Allow `write`[^]*session:folder: /)
  const wrong = await inside(['waiting', 'answer', id, 'session', '--limit', 'long'], folder)
  expect(wrong.code).not.toBe(0)
  expect(await inside(['waiting', 'answer', id, 'session', '--limit', '5 times'], folder))
    .toMatchObject({ code: 0, stdout: 'Answered. The call goes on.\n' })
  expect(await outcome).toMatchObject({ type: 'output' })
  expect(session.approvals())
    .toMatchObject([{ maxUses: 5, grantedBy: expect.stringMatching(/with bulkhead waiting$/) }])
  expect(await listed()).toEqual([])
  const late = await inside(['waiting', 'answer', id, 'once'], folder)
  expect(late.stderr).toMatch(/does not wait any more: it was answered by .* with bulkhead waiting \(command\)/)
})

it('of answers at once the first counts, and the others learn it', async () => {
  const { person, write } = await asking()
  const outcome = write('src/a.txt')
  const { id } = await question()
  const book = openQuestions(await anotherStore())
  const by = (name: string) => ({ by: name, way: 'test' })
  const all = Promise.allSettled(['once', 'reject', 'once'].map((decision, index) =>
    book.answer(id, { status: 'accepted', value: { decision } }, by(`person ${index}`))))
  const { correlationId } = person.pending[0]!
  person.answer(correlationId, { status: 'accepted', value: { decision: 'once', by: 'the terminal' } })
  expect((await outcome).type).toBe('output')
  const ends = (await all).map((end) => end.status === 'rejected' ? (end.reason as { code: string }).code : end.value)
  expect(ends).toEqual(Array.from({ length: 3 }, () => 'InteractionAlreadyAnswered'))
})

it('an answer that the host has not seen when its question ends still counts', async () => {
  const host = await opened()
  const isAnswered = Promise.withResolvers<void>()
  const gone = { interact: () => isAnswered.promise.then(() => ({ status: 'timeout' as const })) }
  const session = await host.openSession({ interactor: gone, pause: true })
  const outcome = session.call({ id: 'w', name: 'write', arguments: { path: 'a.txt', content: 'x' } })
  const store = await anotherStore()
  const { id } = await question()
  const answering = openQuestions(store).answer(id, { status: 'accepted', value: 'once' }, { by: 'a', way: 'test' })
  const isStored = async () => 'answer' in (await store.read('question', id) as object)
  // Without a turn of the event loop, nothing would store it.
  while (!await isStored()) await new Promise(setImmediate)
  isAnswered.resolve()
  expect(await outcome).toMatchObject({ type: 'output' })
  expect(await answering).toBe('taken')
  expect(await host.pausedCalls()).toEqual([])
})

it('a session without a person waits for an answer from elsewhere, also in the host that resumes it', async () => {
  const first = await opened()
  const before = await first.openSession({ headless: 'wait' })
  await before.call({ id: 'l', name: 'list', arguments: {} })
  await first.close()
  const next = await opened()
  const session = await next.resumeSession(before.id)
  const call = { id: 'w', name: 'write', arguments: { path: 'src/a.txt', content: 'x' } }
  expect(await session.explain(call)).toMatchObject({ decision: 'ask' })
  const outcome = session.call(call)
  await inside(['waiting', 'answer', (await question()).id, 'once'], folder)
  expect(await outcome).toMatchObject({ type: 'output' })
})

it('the command waits for an answer from elsewhere if that is wanted', async () => {
  const args = JSON.stringify({ path: 'a.txt', content: 'x' })
  const forgetful = await inside(['call', 'write', '--args', args, '--wait', '--no-store'], folder)
  expect(forgetful).toMatchObject({ code: 2, stderr: expect.stringContaining('--wait needs the store') })
  const book = openQuestions(await anotherStore())
  let said = ''
  const call = inside(['call', 'write', '--args', args, '--wait'], folder, {}, (text) => { said += text })
  await expect.poll(() => said).toContain('The call waits for an answer')
  await expect.poll(async () => (await book.list()).length).toBe(1)
  await book.answer((await book.list())[0]!.id, { status: 'accepted', value: 'once' }, { by: 'a', way: 'test' })
  expect(await call).toMatchObject({ code: 0 })
})

it('a question that was asked while the store was away is shown when it is back', async () => {
  let isAway = true
  const store = new Proxy(await openSqliteStore({ file: join(home(), 'bulkhead.db') }), {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        const isLost = isAway && name === 'update' && given[0] === 'question'
        if (isLost) throw new BulkheadError('StoreUnavailable', 'It is away.')
        return Reflect.apply(value, target, given) as unknown
      }
    },
  })
  const host = await createHost({ workspace: folder, home: home(), cache: CACHE, store, trust: 'declined', env: {} })
  close.push(() => host.close())
  const lost = new Promise<void>((resolve) => {
    host.on((event) => {
      if (event.type === 'SuppressedError' && event.source === 'sharing questions') resolve()
    }, ['SuppressedError'])
  })
  const session = await host.openSession({ headless: 'wait' })
  const outcome = session.call({ id: 'w', name: 'write', arguments: { path: 'a.txt', content: 'x' } })
  await lost
  isAway = false
  await inside(['waiting', 'answer', (await question()).id, 'once'], folder)
  expect(await outcome).toMatchObject({ type: 'output' })
})

it('an answer that does not fit leaves the question open', async () => {
  const { write, person } = await asking()
  const outcome = write('src/a.txt')
  const { id } = await question()
  const book = openQuestions(await anotherStore())
  await expect(book.answer(id, { status: 'accepted', value: 'perhaps' }, { by: 'a', way: 'test' }))
    .rejects.toMatchObject({ code: 'InputInvalid' })
  await expect(book.answer(id, { status: 'accepted', value: 'once' }, { by: 'a', way: 'test', round: 7 }))
    .rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  expect(person.pending).toHaveLength(1)
  expect(await book.answer(id, { status: 'accepted', value: 'reject' }, { by: 'a', way: 'test' })).toBe('taken')
  expect(await outcome).toMatchObject({ error: { code: 'ApprovalDenied' } })
})

it('a paused call is answered after its host has ended, and goes on in the next', async () => {
  const { host, write } = await asking(true)
  expect(await write('src/a.txt')).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  await host.close()
  close = []
  const { id } = await question()
  expect((await inside(['waiting', 'answer', id, 'once'], folder)).stdout).toMatch(/^Stored\. /)
  expect(await listed()).toEqual([])
  expect((await inside(['waiting', 'answer', id, 'reject'], folder)).code).toBe(1)
  const next = await opened()
  const session = await next.openSession({ pause: true })
  const [paused] = await next.pausedCalls()
  expect(paused).toMatchObject({ status: 'answered' })
  expect(await session.resume(paused!.id)).toMatchObject({ type: 'output' })
})

it('the secret of a webhook is read from no file that others can read', async () => {
  const file = join(folder, 'secret')
  const serve = () => inside(['waiting', 'serve', '--webhook', 'https://a.example', '--secret-file', file], folder)
  await anotherStore()
  expect(await serve()).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no file') })
  writeFileSync(file, 'x'.repeat(32), { mode: 0o644 })
  expect(await serve()).toMatchObject({ code: 2, stderr: expect.stringMatching(/Other users can access .*chmod 600/) })
  writeFileSync(file, 'short')
  chmodSync(file, 0o600)
  expect(await serve()).toMatchObject({ code: 2, stderr: expect.stringContaining('at least 32 characters') })
})

it('a question of a host that ended does not wait', async () => {
  const { host, session, write } = await asking()
  const outcome = write('src/a.txt')
  await question()
  session.cancel()
  await host.close()
  close = []
  await outcome
  expect(await listed()).toEqual([])
})
