import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQuestions } from '@bulkhead/host'
import { ANSWER_PURPOSE, createAnswerLinks, type AnswerLinks } from '@bulkhead/inspector/links'
import { signMessage, SignedMessages } from '@bulkhead/kit/signed-message'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { serveAnswers } from '../src/facade/serve-answers.ts'
import { QUESTION_PURPOSE, runWebhook } from '../src/facade/webhook.ts'
import { createHost, createInspector, createProgrammaticInteractor, openSqliteStore } from '../src/index.ts'
import { CACHE } from './cache.ts'

const SECRET = 'webhook-secret-webhook-secret-32'
let folder: string
let ends: (() => unknown)[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-elsewhere-')))
  ends = []
})
afterEach(async () => {
  for (const end of ends.toReversed()) await end()
  rmSync(folder, { recursive: true, force: true })
})

const openStore = async () => {
  const store = await openSqliteStore({ file: join(folder, 'home/bulkhead.db') })
  ends.push(() => store.close())
  return store
}

/** A host that asks, and another process's view of the store that serves links. */
async function setting() {
  const store = await openStore()
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store, env: {} })
  const session = await host.openSession({ interactor: createProgrammaticInteractor() })
  ends.push(async () => { session.cancel(); await host.close() })
  const questions = openQuestions(await openStore())
  const served: { links?: AnswerLinks } = {}
  const server = await serveAnswers(() => served.links!, 0)
  ends.push(() => server.close())
  const base = `http://localhost:${server.port}/`
  const links = served.links = createAnswerLinks({ questions, base, secret: 'x'.repeat(32), webhookSecret: SECRET })
  const write = (content: string) =>
    session.call({ id: content, name: 'write', arguments: { path: 'src/a.txt', content } })
  return { session, questions, links, base, write }
}

const send = (url: string, base: string, form: Record<string, string>) =>
  fetch(url, { method: 'POST', headers: { origin: new URL(base).origin }, body: new URLSearchParams(form) })

it('a link answers a call of another host, and an edited call has a link of its own', async () => {
  const { questions, links, base, write } = await setting()
  const outcome = write('x')
  await expect.poll(async () => (await questions.list()).length).toBe(1)
  const [first] = await questions.list()
  const url = links.link(first!)
  expect(await (await fetch(url)).text()).toContain('src/a.txt')
  expect((await questions.list())).toHaveLength(1)
  // No schema: the call is asked about again, with the fault among its reasons.
  expect((await send(url, base, { answer: 'once:call', arguments: '{"path":5}' })).status).toBe(200)
  await expect.poll(async () => (await questions.list()).filter(({ id }) => id !== first!.id).length).toBe(1)
  expect((await send(url, base, { answer: 'once:call' })).status).toBe(410)
  const [second] = await questions.list()
  const other = links.link(second!)
  const all = await Promise.all([1, 2].map(() => send(other, base, { answer: 'session:folder', limit: '2 times' })))
  // The second one is late for the answer, or already for the page.
  expect(all.map(({ status }) => status).toSorted()).toEqual([200, expect.toBeOneOf([409, 410])])
  expect(await outcome).toMatchObject({ type: 'output' })
})

/** A server of the operator that records what it gets. */
async function receiver() {
  const got: { readonly headers: Headers; readonly body: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
      got.push({ headers: new Headers(request.headers as never), body: Buffer.concat(chunks).toString() })
      response.writeHead(got.length === 1 ? 503 : 204).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/q`, got }
}

it('a webhook gets signed questions, answers one, and learns that it is over', async () => {
  const { questions, links, write } = await setting()
  const { url, got } = await receiver()
  const stop = new AbortController()
  const options = { url, secret: SECRET, questions, links, onFault: () => undefined, everyMs: 20 }
  const running = runWebhook(options, stop.signal)
  ends.push(async () => { stop.abort(); await running })
  const outcome = write('y')
  // The first attempt fails, and the second has another nonce.
  await expect.poll(() => got.length).toBe(2)
  const [failed, sent] = got as [typeof got[0], typeof got[0]]
  expect(sent!.headers.get('bulkhead-nonce')).not.toBe(failed!.headers.get('bulkhead-nonce'))
  expect(new SignedMessages(SECRET, QUESTION_PURPOSE).fault(sent!.headers, sent!.body, Date.now())).toBeUndefined()
  const { id, round, answerTo, request, link } = JSON.parse(sent!.body) as Record<string, string>
  expect(request).toMatchObject({ kind: 'Approve', approval: { tool: 'write' } })
  expect((await fetch(link!)).status).toBe(200)
  const response = { status: 'accepted', value: { decision: 'once', by: 'root' } }
  const body = JSON.stringify({ id, round, by: 'Ada', response })
  const answer = () => fetch(answerTo!, {
    method: 'POST', body, headers: { ...signMessage(SECRET, ANSWER_PURPOSE, body, Date.now()) },
  })
  expect(await (await answer()).json()).toEqual({ fate: 'taken' })
  expect((await answer()).status).toBe(409)
  expect(await outcome).toMatchObject({ type: 'output' })
  await expect.poll(() => got.length).toBe(3)
  expect(JSON.parse(got[2]!.body)).toEqual({ type: 'over', id, round })
})

it('an inspector serves links beside its page', async () => {
  const store = await openStore()
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store, env: {} })
  ends.push(() => host.close())
  const answers = { base: 'http://localhost:7000/answers/', secret: 'x'.repeat(32) }
  const inspector = await createInspector(host, { decide: true, answers })
  ends.push(() => inspector.close())
  const session = await host.openSession({ interactor: inspector.interactor })
  const outcome = session.call({ id: 'c', name: 'write', arguments: { path: 'a.txt', content: '' } })
  const book = openQuestions(await openStore())
  await expect.poll(async () => (await book.list()).length).toBe(1)
  const url = inspector.answers!.link((await book.list())[0]!)
  const [headers, body] = [{ origin: 'http://localhost:7000' }, new URLSearchParams({ answer: 'once:call' })]
  expect((await inspector.fetch(new Request(url, { method: 'POST', headers, body }))).status).toBe(200)
  expect(await outcome).toMatchObject({ type: 'output' })
  expect((await inspector.fetch(new Request('http://localhost:7000/api/about'))).status).toBe(401)
  await expect(createInspector(host, { answers: { ...answers, secret: 'short' } })).rejects.toThrow(/at least 32/)
})

it('a webhook is reached over https or on this machine, and at no private address that is not named', async () => {
  const faults: unknown[] = []
  const { postOnce } = await import('@bulkhead/broker')
  const post = (url: string, more: object = {}) => postOnce({ url, headers: {}, body: '{}', timeoutMs: 500, ...more })
    .catch((thrown: unknown) => { faults.push(thrown) })
  await post('http://hooks.example/')
  await post('https://10.0.0.5/')
  await post('https://hooks.example/', { lookup: async () => ['192.168.0.7'] })
  await post('https://[::ffff:127.0.0.1]/')
  expect(faults.map((fault) => (fault as { code?: string }).code)).toEqual([
    'ConfigInvalid', 'CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied',
  ])
})
