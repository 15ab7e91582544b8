import { InMemoryTransport, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { BoundedTransport } from '../../../src/mcp/serving/bounded-transport.ts'

const request = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'tools/list' })
const answer = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: {} })

/** A transport whose client may stop reading. */
async function wire(maxOpen: number) {
  const [inner, far] = InMemoryTransport.createLinkedPair()
  const state = {
    stuck: false, closed: 0, faults: 0, received: [] as JSONRPCMessage[], answers: [] as JSONRPCMessage[],
  }
  const near: Transport = inner
  const pass = inner.send.bind(inner)
  near.send = (message) => state.stuck ? new Promise(() => {}) : pass(message)
  const closed = Promise.withResolvers<void>()
  const bounded = new BoundedTransport(near, {
    maxOpen,
    closed() {
      state.closed += 1
      closed.resolve()
    },
  })
  Object.assign(bounded, {
    onmessage: (message: JSONRPCMessage) => state.received.push(message), onerror: () => { state.faults += 1 },
  } satisfies Pick<Transport, 'onmessage' | 'onerror'>)
  Object.assign(far, { onmessage: (message: JSONRPCMessage) => state.answers.push(message) })
  await bounded.start()
  await far.start()
  return { bounded, far, state, closed: closed.promise }
}

it('limits open requests, and frees the place of answered and cancelled ones', async () => {
  const { bounded, far, state } = await wire(2)
  for (const id of [1, 2, 3]) await far.send(request(id))
  expect(state.received).toHaveLength(2)
  expect(state.answers).toMatchObject([{ id: 3, error: { code: -32000 } }])
  await bounded.send(answer(1))
  await far.send(request(4))
  await far.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  await far.send(request(5))
  expect(state.received.map((message) => 'id' in message ? message.id : 'note')).toEqual([1, 2, 4, 'note', 5])
})

it('counts unsent responses, and disconnects a client that does not read', async () => {
  const { bounded, far, state, closed } = await wire(2)
  state.stuck = true
  for (const id of [1, 2]) await far.send(request(id))
  for (const id of [1, 2]) void bounded.send(answer(id))
  for (const id of [3, 4]) await far.send(request(id))
  expect(state).toMatchObject({ closed: 0, faults: 2 })
  expect(state.received).toHaveLength(2)
  await far.send(request(5))
  await closed
})

it('closes once, from either end', async () => {
  const { bounded, far, state } = await wire(2)
  await far.close()
  await bounded.close()
  expect(state.closed).toBe(1)
})
