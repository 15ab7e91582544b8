import { setImmediate } from 'node:timers/promises'
import type { Outcome } from '@bulkhead/contract'
import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/server'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyOutcome } from '../../../../contract/test/samples/outcomes.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { serveTools } from '../../../src/mcp/index.ts'
import type { ServedSession } from '../../../src/mcp/serving/served-session.ts'

/** A client that speaks JSON-RPC itself, after `initialize`. */
async function connected(call: ServedSession['call']) {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const faults: string[] = []
  const serving = await serveTools({ on: () => () => undefined }, {
    info: { name: 'ship', version: '1.0.0' }, transport: here, onFault: ({ message }) => void faults.push(message),
    openSession: async () => ({ id: 's', tools: () => [], close: async () => undefined, call }),
  })
  const received: JSONRPCMessage[] = []
  const waiting = new Map<unknown, (message: JSONRPCMessage) => void>()
  Object.assign(there, {
    onmessage(message: JSONRPCMessage) {
      received.push(message)
      if ('id' in message) waiting.get(message.id)?.(message)
    },
  })
  await there.start()
  let count = 0
  const send = (method: string, params: Record<string, unknown>, id = ++count) => {
    const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>()
    waiting.set(id, resolve)
    void there.send({ jsonrpc: '2.0', id, method, params })
    return promise
  }
  await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } })
  return { serving, there, received, faults, send }
}

const output: Extract<Outcome, { readonly type: 'output' }> =
  { type: 'output', data: 'x', metadata: { call_id: 'c', tool: 't', origin: null, duration_ms: 1, attempt: 1 } }

it('answers like the SDK, which gets requests with metadata', async () => {
  let outcome: Outcome = output
  const { serving, send } = await connected(async () => outcome)
  const answerTo = async (params: object) => {
    const { id, ...answer } = await send('tools/call', { name: 't', ...params }) as { readonly id?: unknown }
    return { kind: 'error' in answer ? { code: (answer.error as { readonly code: number }).code } : answer, id }
  }
  await fc.assert(fc.asyncProperty(anyOutcome, async (any) => {
    outcome = any
    const [plain, bySdk] = [await answerTo({ arguments: {} }), await answerTo({ arguments: {}, _meta: {} })]
    expect(plain.kind).toEqual(bySdk.kind)
  }), { numRuns: thoroughly(50, 2_000) })
  const data = 'not base64!'
  outcome = { ...output, content: [{ type: 'image', data, mimeType: 'image/png' }] }
  expect((await answerTo({})).kind).toEqual({ code: -32602 })
  expect((await answerTo({ _meta: {} })).kind).toEqual({ code: -32602 })
  for (const params of [{ arguments: [] }, { arguments: 'x' }, { name: 1 }]) {
    expect((await answerTo(params)).kind).toMatchObject({ code: expect.any(Number) })
  }
  await serving.close()
})

it('begins calls in the order of their requests', async () => {
  const begun: unknown[] = []
  const { serving, send } = await connected(async (call) => {
    begun.push(call.arguments)
    return output
  })
  const calls = [{ _meta: {} }, {}, { _meta: {} }, {}, {}]
    .map((more, n) => send('tools/call', { name: 't', arguments: { n }, ...more }))
  await Promise.all(calls)
  expect(begun).toEqual(calls.map((_, n) => ({ n })))
  await serving.close()
})

it('cancels a call, which gets no response, and frees its id', async () => {
  const [began, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { serving, there, received, faults, send } = await connected((call, { signal }) => {
    if (call.id !== 'mcp-1') return Promise.resolve(output)
    began.resolve()
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => void ended.promise.then(() => resolve(output))),
    )
  })
  void send('tools/call', { name: 't' }, 7)
  await began.promise
  await there.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
  await send('tools/call', { name: 't' }, 7)
  ended.resolve()
  await send('tools/call', { name: 't' }, 8)
  expect(received.map((message) => 'id' in message ? message.id : message)).toEqual([1, 7, 8])
  expect(faults).toEqual([])
  await serving.close()
})

it('cancels calls of a client that disconnects, and sends nothing', async () => {
  const [began, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { serving, there, faults, send } = await connected((_, { signal }) => {
    began.resolve()
    return new Promise((resolve) => signal.addEventListener('abort', () => {
      cancelled.resolve()
      resolve(output)
    }))
  })
  void send('tools/call', { name: 't' })
  await began.promise
  await there.close()
  await cancelled.promise
  await serving.closed
  await setImmediate()
  expect(faults).toEqual([])
})
