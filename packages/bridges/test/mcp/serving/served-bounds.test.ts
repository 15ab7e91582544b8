import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outcome } from '@bulkhead/contract'
import type { Server } from '@modelcontextprotocol/server'
import { expect, it, onTestFinished } from 'vitest'
import { readRequest } from '../../../src/mcp/serving/client-request.ts'
import type { ResourceSource, SourceContext } from '../../../src/mcp/serving/content-source.ts'
import { Prompts, serveCompletionOn } from '../../../src/mcp/serving/prompt-server.ts'
import { Resources } from '../../../src/mcp/serving/resource-server.ts'
import { ResultResources } from '../../../src/mcp/serving/session-resources.ts'

type Handler = (request: { readonly params: object }, context: object) => unknown

/** The handlers of a client whose resources are those of the source. */
function served(source: Partial<ResourceSource>) {
  const handlers = new Map<string, Handler>()
  const setRequestHandler = (method: string, handler: Handler) => handlers.set(method, handler)
  const server = { setRequestHandler } as unknown as Server
  const resources = new Resources([{ list: async () => [], read: async () => undefined, ...source }])
  const context = () => ({}) as SourceContext
  resources.serveOn(server, 'legacy', context)
  serveCompletionOn(server, new Prompts([]), resources, context)
  return async (method: string, params: object) => handlers.get(method)!({ params }, {})
}
const text = (length: number) => ({ read: async (uri: string) => ({ uri, text: 'x'.repeat(length) }) })

it('lists 1000 entries', async () => {
  const list = async () => Array.from({ length: 1_001 }, (_, index) => ({ uri: `x:${index}`, name: 'x' }))
  expect(await served({ list })('resources/list', {})).toMatchObject({ resources: { length: 1_000 } })
})

it('watches 256 resources of one client', async () => {
  const ask = served({})
  for (let index = 0; index < 256; index++) await ask('resources/subscribe', { uri: `x:${index}` })
  await ask('resources/subscribe', { uri: 'x:0' })
  await expect(ask('resources/subscribe', { uri: 'x:256' })).rejects.toThrow('256 resources are watched')
  await ask('resources/unsubscribe', { uri: 'x:0' })
  await ask('resources/subscribe', { uri: 'x:256' })
})

it.each(['resources/subscribe', 'resources/read'])('%s takes an address of 2048 characters', async (method) => {
  const ask = served(text(1))
  await ask(method, { uri: 'x'.repeat(2_048) })
  await expect(ask(method, { uri: 'x'.repeat(2_049) })).rejects.toThrow('There is no such resource')
})

it('serves no resource of more than 8 MB, and the beginning of an error', async () => {
  const most = 8 * 1024 * 1024
  expect(await served(text(most))('resources/read', { uri: 'x' })).toMatchObject({ contents: [{ uri: 'x' }] })
  await expect(served(text(most + 1))('resources/read', { uri: 'x' })).rejects.toThrow(`more than the limit of ${most}`)
  const read = async () => { throw new Error('x'.repeat(1_000)) }
  await expect(served({ read })('resources/read', { uri: 'x' })).rejects.toThrow(/^x{500}$/)
})

it('completes with 100 values', async () => {
  const ask = served({
    templates: async () => [{ uriTemplate: 'x:{y}', name: 'x' }],
    complete: async () => Array.from({ length: 101 }, String),
  })
  const params = { ref: { type: 'ref/resource', uri: 'x:{y}' }, argument: { name: 'y', value: '' } }
  const completion = { values: { length: 100 }, total: 101, hasMore: true }
  expect(await ask('completion/complete', params)).toMatchObject({ completion })
})

it('1000 saved results can be read, the latest ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-results-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'result')
  writeFileSync(path, 'whole')
  const results = new ResultResources()
  for (let index = 0; index <= 1_000; index++) {
    results.add({ metadata: { call_id: `mcp-${index}`, tool: 'x', output_path: path } } as Outcome)
  }
  expect(await results.list()).toHaveLength(1_000)
  expect(await results.read('bulkhead://results/mcp-0')).toBeUndefined()
  expect(await results.read('bulkhead://results/mcp-1')).toMatchObject({ text: 'whole' })
})

it('reads a saved result in parts of 1 MB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-results-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'result')
  writeFileSync(path, 'x'.repeat(1_500_000))
  const results = new ResultResources()
  results.add({ metadata: { call_id: 'mcp-1', tool: 'x', output_path: path } } as Outcome)
  const next = 'bulkhead://results/mcp-1?from=1048576'
  expect(await results.read('bulkhead://results/mcp-1')).toMatchObject({ _meta: { 'bulkhead/next': next } })
  expect(await results.read(next)).toMatchObject({ text: 'x'.repeat(1_500_000 - 1_048_576) })
})

it('shows 100 characters of the name of a client', () => {
  const server = { getClientVersion: () => ({ name: 'x'.repeat(200), version: '1' }) } as unknown as Server
  const { client } = readRequest('legacy', server, { signal: AbortSignal.timeout(60_000) } as never)
  expect(client).toBe('x'.repeat(100))
})
