import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import type { Json } from '@bulkhead/kit/json'
import { expect, it, onTestFinished } from 'vitest'
import { Broker } from '../../src/broker.ts'
import { temporaryFolder, toolOf } from '../fixture.ts'
import { serve } from './loopback.ts'

async function fetching() {
  const server = await serve((_request, response) => response.end('here'))
  const net = { hosts: [server.place], idempotencyHeader: 'Idempotency-Key' }
  const tool = toolOf('pay', { net }, await temporaryFolder())
  const services = { log: () => undefined, env: new Map(), envDeclared: new Set<string>() }
  const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, '/')
  broker.open({ callId: 'one', tool, signal: new AbortController().signal, idempotencyKey: 'k-1' })
  onTestFinished(() => broker.close())
  const fetch = (request: Json): Promise<Json> => broker.methods['net.fetch']('one', `${server.base}/`, request)
  return { fetch, sent: () => server.requests.map(({ headers }) => headers['idempotency-key']) }
}

it('the host sends the key of the call in the header of the manifest, except with GET and HEAD', async () => {
  const { fetch, sent } = await fetching()
  for (const method of ['POST', 'PUT', 'DELETE', 'GET', 'HEAD']) await fetch({ method })
  expect(sent()).toEqual(['k-1', 'k-1', 'k-1', undefined, undefined])
})

it.each(['POST', 'GET'])('the code cannot set that header of a %s request', async (method) => {
  const { fetch, sent } = await fetching()
  await expect(fetch({ method, headers: { 'IDEMPOTENCY-key': 'mine' } })).rejects.toMatchObject({
    code: 'InputInvalid', message: expect.stringContaining('the host sets the header idempotency-key'),
  })
  expect(sent()).toEqual([])
})

it.each(['Host', 'content-length', 'Transfer-Encoding', 'Proxy-Authorization', 'cookie', 'Authorization', 'a b', ''])(
  'the header %j cannot be named for it', (idempotencyHeader) => {
    const { error } = requirementSet.safeParse({ net: { idempotencyHeader } })
    const messages = error?.issues.map(({ message }) => message)
    expect(messages).toContainEqual(expect.stringMatching(/such as Idempotency-Key$/))
  })
