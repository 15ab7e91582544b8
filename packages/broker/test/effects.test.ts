import type { Json } from '@bulkhead/kit/json'
import { COMPARTMENT_LIMITS, DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Broker } from '../src/broker.ts'
import type { CallEffect } from '../src/model/capability.ts'
import { temporaryFolder, toolOf } from './fixture.ts'
import { serve } from './net/loopback.ts'
import { any } from './shell/shell-setup.ts'

async function limited(limits: Partial<Record<CallEffect, number>>) {
  const workspace = await temporaryFolder()
  const server = await serve((_request, response) => response.end('x'.repeat(1_000)))
  const tool = toolOf('run', {
    net: { hosts: [server.place] }, shell: any('cat') as unknown as Json, fs: { read: ['**'], write: ['**'] },
    capabilities: ['tools.call'],
  }, workspace)
  let nested = 0
  const services = {
    log: () => undefined, env: new Map(), envDeclared: new Set<string>(),
    callTool: async () => ({ type: 'output', data: ++nested, metadata: {} }) as never,
  }
  const broker = new Broker({ tools: [tool], services, limits: { ...DEFAULT_LIMITS, ...limits } }, workspace)
  const calls = ['one', 'two'].map((callId) => ({ callId, tool, signal: new AbortController().signal }))
  for (const call of calls) broker.open(call)
  onTestFinished(() => broker.close())
  const ask = (method: keyof Broker['methods'], ...args: readonly Json[]): Promise<Json> =>
    broker.methods[method]('one', ...args)
  const askInAnother = (method: keyof Broker['methods'], ...args: readonly Json[]): Promise<Json> =>
    broker.methods[method]('two', ...args)
  return { ask, askInAnother, url: `${server.base}/`, server, nested: () => nested }
}

const reached = (limit: CallEffect): object => ({ code: COMPARTMENT_LIMITS[limit].error, data: { limit } })
const refusal = (promise: Promise<Json>): Promise<unknown> =>
  promise.then((value) => ({ value }), ({ code, data }: { readonly code: string; readonly data?: Json }) =>
    ({ code, data }))

describe('the limits of one call', () => {
  it('reject a write before it exceeds writtenBytes', async () => {
    const { ask, askInAnother } = await limited({ writtenBytes: 25 })
    await ask('fs.write', 'a.txt', 'text', 'x'.repeat(10))
    expect(await refusal(ask('fs.write', 'b.txt', 'text', 'x'.repeat(16)))).toEqual(reached('writtenBytes'))
    expect(await refusal(ask('fs.stat', 'b.txt'))).toMatchObject({ code: 'NotFound' })
    await ask('fs.edit', 'a.txt', 'xxxxxxxxxx', 'yyyyyyyyyy')
    expect(await refusal(ask('fs.edit', 'a.txt', 'yyyyyyyyyy', 'z'.repeat(6)))).toEqual(reached('writtenBytes'))
    const update = { path: 'a.txt', before: ['text', 'y'.repeat(10)], after: ['text', 'z'.repeat(6)] }
    expect(await refusal(ask('fs.apply', [update]))).toEqual(reached('writtenBytes'))
    expect(await ask('fs.read', 'a.txt')).toBe('y'.repeat(10))
    await askInAnother('fs.write', 'b.txt', 'text', 'x'.repeat(25))
  })

  it('count bytes read from files and response bodies', async () => {
    const { ask, url } = await limited({ readBytes: 1_550 })
    await ask('fs.write', 'a.txt', 'text', 'x'.repeat(300))
    await ask('fs.read', 'a.txt')
    const { bodyId } = await ask('net.fetch', url) as { bodyId: string }
    await ask('net.read', bodyId)
    expect(await refusal(ask('fs.read', 'a.txt'))).toEqual(reached('readBytes'))
    const again = await ask('net.fetch', url) as { bodyId: string }
    expect(await refusal(ask('net.read', again.bodyId))).toEqual(reached('readBytes'))
  })

  it('count bytes sent to hosts and commands', async () => {
    const { ask, url, server } = await limited({ sentBytes: 1_000 })
    const post = (length: number): Promise<Json> =>
      ask('net.fetch', url, { method: 'POST', body: { kind: 'text', content: 'x'.repeat(length) } })
    await post(400)
    expect(await refusal(post(900))).toEqual(reached('sentBytes'))
    expect(server.requests).toHaveLength(1)
    await ask('shell.run', 'cat', [], { input: 'x'.repeat(100) })
    expect(await refusal(ask('shell.run', 'cat', [], { input: 'x'.repeat(900) }))).toEqual(reached('sentBytes'))
    expect(await refusal(ask('shell.pipe', [{ cmd: 'cat', input: 'x'.repeat(900) }]))).toEqual(reached('sentBytes'))
  })

  it('count calls of other tools', async () => {
    const { ask, askInAnother, nested } = await limited({ nestedCalls: 2 })
    await ask('tools.call', 'other', {})
    await ask('tools.call', 'other', {})
    expect(await refusal(ask('tools.call', 'other', {}))).toEqual(reached('nestedCalls'))
    expect(nested()).toBe(2)
    await askInAnother('tools.call', 'other', {})
  })
})
