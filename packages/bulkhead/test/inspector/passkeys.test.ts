import { join } from 'node:path'
import type { DecisionTaken, PasskeyDemand, WaitingApproval, WaitingView } from '@bulkhead/inspector/protocol'
import { openQuestions } from '@bulkhead/host'
import { expect, it } from 'vitest'
import { softPasskey, type Signing } from '../../../kit/test/soft-passkey.ts'
import type { CreateHostOptions } from '../../src/facade/create-host.ts'
import { changePasskeys, passkeyFile } from '../../src/facade/passkeys/passkey-file.ts'
import { ownRing } from '../../src/facade/passkeys/passkey-ring.ts'
import { createHost, createProgrammaticInteractor, openSqliteStore, type BulkheadEvent } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import type { Client } from './client.ts'
import { openWorld } from './world.ts'

const RULES = [{ permission: 'order', pattern: '*', action: 'ask', passkey: true }] as const
const MILK = { arguments: { what: 'milk' } }
const order = (id: string, what = 'tea') => ({ id, name: 'order', arguments: { what } })

/** A host under the rule, with a passkey of the user. */
async function guarded(options: { readonly stored?: boolean; readonly host?: Partial<CreateHostOptions> } = {}) {
  const world = await openWorld({ decide: true, ...options, host: { config: { rules: [...RULES] }, ...options.host } })
  const passkey = softPasskey()
  await changePasskeys(passkeyFile(join(world.folder, 'home')), () => [{
    ...passkey.key, name: 'laptop', origin: 'http://localhost:1', created: '2026-11-19T00:00:00.000Z',
  }])
  const answered: BulkheadEvent[] = []
  world.host.on((event) => void answered.push(event), ['InteractionAnswered'])
  return { world, passkey, answered, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const pathOf = ({ id }: { readonly id: string }, more = ''): string => `waiting/${encodeURIComponent(id)}${more}`
const waits = async (client: Client): Promise<WaitingApproval | undefined> =>
  (await client.get<WaitingView>('waiting')).items[0] as WaitingApproval | undefined

async function waiting(client: Client): Promise<WaitingApproval> {
  await expect.poll(() => waits(client)).toMatchObject({ kind: 'approval', passkey: true })
  return (await waits(client))!
}

/** As the page does. A test changes what is signed, or what is sent. */
async function allow(
  client: Client, item: WaitingApproval, { sign }: ReturnType<typeof softPasskey>, origin: string,
  { signing = {}, decision = {}, sent = {} }: {
    readonly signing?: Partial<Signing>; readonly decision?: object; readonly sent?: object
  } = {},
): Promise<DecisionTaken> {
  const body = { do: 'allow', answer: 'once-call', digest: item.digest, ...decision }
  const { challenge } = await client.post<PasskeyDemand>(pathOf(item, '/passkey'), body)
  const passkey = json(sign({ challenge, origin, ...signing }))
  return client.post<DecisionTaken>(pathOf(item), { ...body, passkey, ...sent })
}

const json = ({ credential, ...response }: ReturnType<ReturnType<typeof softPasskey>['sign']>): object =>
  ({ id: credential, rawId: credential, type: 'public-key', response })

it('a call under such a rule runs with a passkey of the user, and asks again the next time', async () => {
  await using own = await guarded()
  const { world, passkey, answered } = own
  const session = await world.host.openSession({ interactor: world.inspector.interactor })
  const client = await world.client()
  const outcome = session.call(order('c1'))
  const item = await waiting(client)
  expect(item.answers).toMatchObject([{ id: 'once-call' }])
  expect(item.reasons.join()).toMatch('asks for a passkey')
  const body = { do: 'allow', answer: 'once-call', digest: item.digest }
  await expect(client.post(pathOf(item), body)).rejects.toThrow('demands a passkey')
  const { relyingParty, credentials } = await client.post<PasskeyDemand>(pathOf(item, '/passkey'), body)
  expect({ relyingParty, credentials }).toEqual({ relyingParty: 'localhost', credentials: [passkey.key.id] })
  await allow(client, item, passkey, world.url)
  expect(await outcome).toMatchObject({ data: { ordered: 'tea' } })
  expect(answered).toMatchObject([{ by: expect.stringMatching('laptop'), passkey: { credential: passkey.key.id } }])

  const next = session.call(order('c2'))
  await client.post(pathOf(await waiting(client)), {
    do: 'reject', digest: (await waiting(client)).digest, reason: 'no tea',
  })
  expect(await next).toMatchObject({ error: { code: 'ApprovalDenied' }, error_text: expect.stringMatching('no tea') })
})

it('a signature for anything else leaves the question open', async () => {
  await using own = await guarded()
  const { world, passkey } = own
  const { url } = world
  const session = await world.host.openSession({ interactor: world.inspector.interactor })
  const client = await world.client()
  const outcome = session.call(order('c1'))
  const item = await waiting(client)
  const stranger = softPasskey()
  const named = (all: Signing) => ({ ...stranger.sign(all), credential: passkey.key.id })
  for (const [what, by, origin, changes, fault] of [
    ['an edited call', passkey, url, { sent: { arguments: { what: 'milk' } } }, /another answer/],
    ['an edit that is left out', passkey, url, { decision: MILK, sent: { arguments: undefined } }, /another answer/],
    ['another challenge', passkey, url, { signing: { challenge: 'AAAA' } }, /another answer/],
    ['another port', passkey, 'http://localhost:1', {}, /another page/],
    ['no verification', passkey, url, { signing: { flags: 1 } }, /verified/],
    ['an unknown passkey', stranger, url, {}, /not one of the passkeys/],
    ['the id of another', { ...stranger, sign: named }, url, {}, /signature is wrong/],
  ] as const) {
    await expect.soft(allow(client, item, by, origin, changes), what)
      .rejects.toMatchObject({ code: 'InputInvalid', message: expect.stringMatching(fault) })
  }
  await allow(client, item, passkey, url, { decision: MILK, signing: { counter: 7 } })
  expect(await outcome).toMatchObject({ data: { ordered: 'milk' } })
  const next = session.call(order('c2'))
  const second = await waiting(client)
  await expect(allow(client, second, passkey, url, { signing: { counter: 7 } }))
    .rejects.toMatchObject({ message: expect.stringMatching('counter') })
  await allow(client, second, passkey, url, { signing: { counter: 8 } })
  expect(await next).toMatchObject({ type: 'output' })
})

it('neither a program, nor an earlier approval, nor the mode replaces it', async () => {
  await using own = await guarded({ host: { config: { rules: [...RULES], mode: 'yolo' } } })
  const { world } = own
  const byProgram = await world.host.openSession({ approver: { approve: async () => ({ decision: 'session' }) } })
  const denied = { error: { code: 'ApprovalDenied' }, error_text: expect.stringMatching('passkey') }
  expect(await byProgram.call(order('c1'))).toMatchObject(denied)
  const person = createProgrammaticInteractor()
  const session = await world.host.openSession({ interactor: person })
  const outcome = session.call(order('c2'))
  await expect.poll(() => person.pending.length).toBe(1)
  const { correlationId } = person.pending[0]!
  expect(() => person.answer(correlationId, { status: 'accepted', value: 'once' })).toThrow('demands a passkey')
  person.answer(correlationId, { status: 'accepted', value: { decision: 'reject' } })
  expect(await outcome).toMatchObject({ error: { code: 'ApprovalDenied' } })
  const yes = { interact: async () => ({ status: 'accepted', value: 'once' } as const) }
  const forged = await world.host.openSession({ interactor: yes })
  expect(await forged.call(order('c3'))).toMatchObject(denied)
  expect(await session.explain(order('c4'))).toMatchObject({ decision: 'ask', question: { passkey: {} } })
})

it('an approval of a folder does not cover what a rule there demands a passkey for', async () => {
  const rules = [{ permission: 'write', pattern: 'src/b.txt', action: 'ask', passkey: true }] as const
  await using own = await guarded({ host: { config: { rules: [...rules] } } })
  const person = createProgrammaticInteractor()
  const session = await own.world.host.openSession({ interactor: person })
  const write = (path: string) => session.call({ id: path, name: 'write', arguments: { path, content: '' } })
  const outcome = write('src/a.txt')
  await expect.poll(() => person.pending.length).toBe(1)
  const value = { decision: 'session', covers: 'folder' }
  person.answer(person.pending[0]!.correlationId, { status: 'accepted', value })
  expect([(await outcome).type, (await write('src/c.txt')).type]).toEqual(['output', 'output'])
  const guardedCall = write('src/b.txt')
  await expect.poll(() => person.pending).toMatchObject([{ request: { approval: { passkey: {} } } }])
  person.answer(person.pending[0]!.correlationId, { status: 'rejected' })
  expect(await guardedCall).toMatchObject({ error: { code: 'ApprovalDenied' } })
})

it('another process answers through the store, and a forged row does not', async () => {
  await using own = await guarded({ stored: true })
  const { world, passkey } = own
  const home = join(world.folder, 'home')
  const session = await world.host.openSession({ interactor: world.inspector.interactor })
  const store = await openSqliteStore({ file: join(world.folder, 'host.db') })
  try {
    const [book, blind] = [openQuestions(store, ownRing(home)), openQuestions(store)]
    const outcome = session.call(order('c1'))
    await expect.poll(async () => (await book.list()).length).toBe(1)
    const [question] = await book.list()
    const { id } = question!
    const from = { by: 'ada', way: 'test', origin: 'http://localhost:4000' }
    const value = { decision: 'once' }
    await expect(book.answer(id, { status: 'accepted', value }, from)).rejects.toThrow('demands a passkey')
    const { challenge } = (await book.passkey(id, value))!
    const signed = passkey.sign({ challenge, origin: from.origin })
    const response = { status: 'accepted', value, passkey: signed } as const
    await expect(blind.answer(id, response, from)).rejects.toThrow('another page')
    // A writer of the store claims the page, without the secret of the user. The next answer replaces what was refused.
    const page = { origin: from.origin, seal: 'x'.repeat(43) }
    const forged = { response: { ...response, passkey: { ...signed, page } }, by: 'ada', way: 'row', at: Date.now() }
    const written = { answer: forged, refused: 'not yet' }
    await store.update('question', id, (stored) => ({ ...stored as object, ...written }) as never)
    const row = async () => await store.read('question', id) as { refused?: string; answer?: object }
    await expect.poll(row).toMatchObject({ refused: expect.stringMatching('another page') })
    expect((await row()).answer).toBeUndefined()
    const elsewhere = { ...from, origin: 'http://localhost:4001' }
    await expect(book.answer(id, response, elsewhere)).rejects.toThrow('another page')
    expect(await book.answer(id, response, from)).toBe('taken')
    expect(await outcome).toMatchObject({ data: { ordered: 'tea' } })
  } finally {
    await store.close()
  }
})

it('a paused call goes on with a passkey once, and not with an answer that was written into the store', async () => {
  await using own = await guarded({ stored: true })
  const { world, passkey, answered } = own
  const session = await world.host.openSession({ pause: true })
  const pausedCall = async (id: string) => {
    expect(await session.call(order(id))).toMatchObject({ error: { code: 'ClarificationNeeded' } })
    return (await world.host.pausedCalls()).find(({ call }) => call.id === id)!.id
  }
  const first = await pausedCall('c1')
  await expect(session.resume(first, 'once')).rejects.toThrow('demands a passkey')
  const client = await world.client()
  await allow(client, await waiting(client), passkey, world.url)
  const store = await openSqliteStore({ file: join(world.folder, 'host.db') })
  try {
    const [{ value: kept, key }] = await store.list('paused') as [{ value: never; key: string }]
    expect(await session.resume(first)).toMatchObject({ data: { ordered: 'tea' } })
    expect(answered.at(-1)).toMatchObject({ callId: 'c1', passkey: { credential: passkey.key.id } })
    // The same answer once more, as if the call still waited.
    await store.update('paused', key, () => kept)
    expect(await session.resume(first)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
    // A writer of the store answers, and takes the demand out of the question.
    const second = await pausedCall('c2')
    const { key: other, value } = (await store.list('paused')).find((one) => one.key.endsWith(second))!
    const { question } = value as unknown as { question: { approval: { passkey?: unknown } } }
    delete question.approval.passkey
    const asked = [{ question, answer: { decision: 'once' } }]
    await store.update('paused', other, () => ({ ...value as object, question, asked, status: 'answered' }) as never)
    expect(await session.resume(second)).toMatchObject({ error: { code: 'ApprovalDenied' } })
  } finally {
    await store.close()
  }
})

it('an embedder gives the passkeys and their pages', async () => {
  const passkey = softPasskey('EdDSA', 'ops.example')
  const page = 'https://ops.example'
  const keys = [{ ...passkey.key, name: 'ops', origins: [page] }]
  await using own = await guarded({ stored: true, host: { passkeys: keys } })
  const { world } = own
  const store = await openSqliteStore({ file: join(world.folder, 'host.db') })
  try {
    const session = await world.host.openSession({ interactor: world.inspector.interactor })
    const outcome = session.call(order('c1'))
    const book = openQuestions(store)
    await expect.poll(async () => (await book.list()).length).toBe(1)
    const { id } = (await book.list())[0]!
    const value = { decision: 'once' }
    const { challenge, credentials } = (await book.passkey(id, value))!
    expect(credentials).toEqual([{ id: passkey.key.id, rpId: 'ops.example' }])
    const from = { by: 'ada', way: 'page' }
    const answer = (origin: string) =>
      book.answer(id, { status: 'accepted', value, passkey: passkey.sign({ challenge, origin }) }, from)
    await expect(answer('https://evil.example')).rejects.toThrow('another page')
    expect(await answer(page)).toBe('taken')
    expect(await outcome).toMatchObject({ type: 'output' })
  } finally {
    await store.close()
  }
  await expect(createHost({ workspace: world.folder, cache: CACHE, passkeys: [{ id: 'x' } as never] }))
    .rejects.toMatchObject({ code: 'ConfigInvalid' })
})
