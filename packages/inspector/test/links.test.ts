import { hash } from 'node:crypto'
import { BulkheadError, type ApprovalRequest, type InteractionResponse } from '@bulkhead/contract'
import { signMessage } from '@bulkhead/kit/signed-message'
import { beforeEach, expect, it } from 'vitest'
import { ANSWER_PURPOSE, createAnswerLinks, type LinkedQuestion, type LinkedQuestions } from '../src/links/index.ts'

const SECRET = 'links'.repeat(8)
const HOOK_SECRET = 'hooks'.repeat(8)
const BASE = 'http://localhost:8766/answers/'
const approval: ApprovalRequest = {
  sessionId: 's', callId: 'c', tool: 'write', label: 'Write', mode: 'safe_write', kind: 'edit', origin: 'bundled',
  approvalKey: 'a/b.txt', argumentsText: '{"content":"<script>alert(1)</script>\u202e"}', touches: ['write a/b.txt'],
  mayTouch: [], reasons: ['the mode asks'],
  answers: [
    { decision: 'once', covers: 'call', words: 'this call' },
    { decision: 'session', covers: 'workspace', words: 'the workspace', keys: ['./'], narrower: ['a/'] },
  ],
}

let questions: Map<string, LinkedQuestion>
let answers: (readonly [string, InteractionResponse, string])[]
let now: number
const book: LinkedQuestions = {
  list: async () => [...questions.values()],
  find: async (id) => questions.get(id),
  async answer(id, response, { way }) {
    const question = questions.get(id)
    if (question?.state !== 'waits') throw new BulkheadError('InteractionAlreadyAnswered', 'Someone was first.')
    questions.set(id, { ...question, state: 'answered' })
    answers.push([id, response, way])
    return 'taken'
  },
  passkey: async () => ({ challenge: 'AAAA', credentials: [{ id: 'BBBB', rpId: 'localhost' }] }),
}
const ID = 'ab'.repeat(20)
const links = () => createAnswerLinks({
  questions: book, base: BASE, secret: SECRET, webhookSecret: HOOK_SECRET, minutes: 10, now: () => now,
})
const post = (url: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  links().fetch(new Request(url, {
    method: 'POST', body: new URLSearchParams(form), headers: { origin: 'http://localhost:8766', ...headers },
  })) as Promise<Response>
const get = (url: string) => links().fetch(new Request(url)) as Promise<Response>
const link = () => links().link({ id: ID, round: 1 })

beforeEach(() => {
  now = 1_700_000_000_000
  answers = []
  const request = { kind: 'Approve', approval } as const
  questions = new Map([[ID, { id: ID, round: 1, since: now, source: 'host', state: 'waits', request }]])
})

it('a link shows the whole call, decides nothing, and runs no script', async () => {
  const response = await get(link())
  const text = await response.text()
  expect(response.status).toBe(200)
  expect(text).toContain('&#60;script&#62;alert(1)')
  expect(text).toContain('\\u{202e}')
  expect(text).not.toMatch(/<script/i)
  expect(text.indexOf('value="reject"')).toBeLessThan(text.indexOf('value="once:call"'))
  expect(response.headers.get('content-security-policy'))
    .toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(answers).toEqual([])
})

it('a form of the page decides, once', async () => {
  const url = link()
  expect((await post(url, { answer: 'session:workspace', key: 'a/', limit: '5 times' })).status).toBe(200)
  expect(answers).toEqual([
    [ID, { status: 'accepted', value: { decision: 'session', covers: 'workspace', key: 'a/', uses: 5 } }, 'link'],
  ])
  expect((await post(url, { answer: 'once:call' })).status).toBe(410)
  expect((await get(url)).status).toBe(410)
})

it.each<[string, Record<string, string>]>([
  ['no answer', {}], ['an answer that was not offered', { answer: 'project:key' }],
  ['a limit that cannot be read', { answer: 'session:workspace', limit: 'long' }],
  ['a limit for one call', { answer: 'once:call', limit: '5 times' }],
  ['a wider key', { answer: 'session:workspace', key: '../' }],
  ['arguments that are no object', { answer: 'once:call', arguments: '[1]' }],
])('a form with %s changes nothing and shows why', async (_, form) => {
  const response = await post(link(), form)
  expect(response.status).toBe(422)
  expect(await response.text()).toContain('role="alert"')
  expect(answers).toEqual([])
})

it.each<[string, () => Promise<Response>, number]>([
  ['of another site', () => post(link(), { answer: 'once:call' }, { origin: 'http://evil.example' }), 403],
  ['without an origin', () => post(link(), { answer: 'once:call' }, { origin: 'null' }), 403],
  ['that is no form', () => post(link(), { answer: 'once:call' }, { 'content-type': 'text/plain' }), 415],
  ['to another name', () => post(link().replace('localhost', 'evil.example'), { answer: 'once:call' }), 421],
  [
    'after its time',
    async () => {
      const url = link()
      now += 600_001
      return post(url, { answer: 'once:call' })
    },
    410,
  ],
  ['with another question', () => post(link().replace(ID, 'cd'.repeat(20)), { answer: 'once:call' }), 410],
  ['with another time', () => post(link().replace(/\.(\d{13})\./, '.9999999999999.'), { answer: 'once:call' }), 410],
  ['of another secret', () => post(createAnswerLinks({ questions: book, base: BASE, secret: 'x'.repeat(32) })
    .link({ id: ID, round: 1 }), { answer: 'once:call' }), 410],
  ['that is too long', () => post(link(), { answer: 'once:call', reason: 'x'.repeat(300_000) }), 413],
])('an answer %s is refused', async (_, send, status) => {
  expect((await send()).status).toBe(status)
  expect(answers).toEqual([])
})

it('a link is for one round of one question: the edited call has another', async () => {
  const url = link()
  questions.set(ID, { ...questions.get(ID)!, round: 2 })
  expect((await post(url, { answer: 'once:call' })).status).toBe(410)
})

it('a webhook answers with a signed message, once', async () => {
  const body = JSON.stringify({ id: ID, round: 1, by: 'Ada', response: { status: 'accepted', value: 'once' } })
  const send = (headers: object, text = body) => links()
    .fetch(new Request(`${BASE}hook`, { method: 'POST', body: text, headers: headers as never })) as Promise<Response>
  expect((await send({})).status).toBe(401)
  expect((await send(signMessage(SECRET, ANSWER_PURPOSE, body, now))).status).toBe(401)
  expect((await send(signMessage(HOOK_SECRET, 'question to a webhook', body, now))).status).toBe(401)
  expect((await send(signMessage(HOOK_SECRET, ANSWER_PURPOSE, '{}', now), '{}')).status).toBe(400)
  const one = links()
  const headers = { ...signMessage(HOOK_SECRET, ANSWER_PURPOSE, body, now) }
  const again = () => one.fetch(new Request(`${BASE}hook`, { method: 'POST', body, headers })) as Promise<Response>
  expect(await (await again()).json()).toEqual({ fate: 'taken' })
  expect((await again()).status).toBe(401)
  expect(answers).toMatchObject([[ID, { value: 'once' }, 'webhook']])
  expect((await send(signMessage(HOOK_SECRET, ANSWER_PURPOSE, body, now))).status).toBe(409)
})

it.each(['http://ops.example/', 'ftp://localhost/', 'https://a:b@ops.example/', 'https://ops.example/?x', 'nothing'])(
  'refuses the base %s', (base) => {
    expect(() => createAnswerLinks({ questions: book, base, secret: SECRET })).toThrow(/no address for links/)
  })

it('a question under a passkey asks this browser for one, for the answer that was chosen', async () => {
  const passkey = { nonce: 'n', credentials: [] }
  questions.set(ID, { ...questions.get(ID)!, request: { kind: 'Approve', approval: { ...approval, passkey } } })
  const page = await get(link())
  const [, script] = /<script>(.*)<\/script>/s.exec(await page.text()) ?? []
  const digest = hash('sha256', script!, 'base64')
  expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${digest}'; `)
  expect(await (await post(link(), { answer: 'once:call', passkey: 'ask' })).json())
    .toEqual({ challenge: 'AAAA', relyingParty: 'localhost', credentials: ['BBBB'] })
  expect(await (await post(link(), { passkey: 'ask' })).json()).toEqual({ error: 'Choose one of the answers.' })
  expect((await post(link(), { answer: 'once:call', passkey: '{}' })).status).toBe(422)
  expect(answers).toEqual([])
  const response = { authenticatorData: 'a', clientDataJSON: 'c', signature: 's' }
  await post(link(), { answer: 'once:call', passkey: JSON.stringify({ id: 'BBBB', response }) })
  expect(answers).toMatchObject([[ID, { passkey: { credential: 'BBBB', ...response } }, 'link']])
})
