import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createMcpHandler, fromJsonSchema, inputRequired, acceptedContent, McpServer, type ServerContext,
} from '@modelcontextprotocol/server'
import type { ConnectedExtension, Interact } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { respond } from './respond.ts'
import { Setup, now, resolved } from './setup.ts'

let setup: Setup
let open: Server[]
beforeEach(() => {
  setup = new Setup()
  open = []
})
afterEach(async () => {
  await setup.close()
  for (const server of open) {
    server.closeAllConnections()
    server.close()
  }
})

type Handle = (request: IncomingMessage, response: ServerResponse) => void

async function listen(handle: Handle): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  open.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

const none = fromJsonSchema({ type: 'object', properties: {} })
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

/** A server of the official SDK on a loopback address. */
function library(seen: Record<string, unknown>[] = [], legacy: 'stateless' | 'reject' = 'stateless'): Handle {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'harbour', version: '2.0.0' })
    server.registerTool('echo', {
      description: 'Gives back.',
      inputSchema: fromJsonSchema<{ text: string }>({ type: 'object', properties: { text: { type: 'string' } } }),
    },
      ({ text: value }) => text(value))
    server.registerTool('list', { description: 'A list.', inputSchema: none }, () => ({
      ...text('three'), structuredContent: [1, 2, 3] as never,
    }))
    server.registerTool(
      'ask', { description: 'Asks.', inputSchema: none },
      (_args: unknown, context: ServerContext) => {
        const answer = acceptedContent(context.mcpReq.inputResponses, 'berth') as { berth?: string } | undefined
        if (answer?.berth !== undefined) return text(`berth ${answer.berth}`)
        return inputRequired({
          inputRequests: {
            berth: inputRequired.elicit({
              mode: 'form', message: 'Which berth?',
              requestedSchema: { type: 'object', properties: { berth: { type: 'string' } }, required: ['berth'] },
            }),
          },
        })
      },
    )
    return server
  }, { legacy })
  return (request, response) => {
    seen.push(request.headers)
    void respond(handler.fetch, request, response)
  }
}

async function connected(
  url: string, headers = {}, env: Record<string, string> = {},
): Promise<{ extension: ConnectedExtension | undefined; servers: ReturnType<Setup['open']> }> {
  const servers = setup.open({ env })
  const config = resolved({ harbour: { type: 'remote', url, headers } })
  servers.offer(config)
  await servers.connect(now())
  return { servers, extension: servers.offer(config).extensions[0] }
}

function call(
  extension: ConnectedExtension, tool: string, args: JsonObject = {}, runtime: object = {},
): Promise<JsonObject> {
  const execute = extension.module([tool]).tools[tool]!.execute as unknown as (args: JsonObject, runtime: object) =>
    Promise<JsonObject>
  return execute(args, { signal: now(), progress: () => undefined, ...runtime })
}

it.each(['stateless', 'reject'] as const)('connects over HTTP with its secrets, legacy clients: %s', async (legacy) => {
  const seen: Record<string, unknown>[] = []
  const url = await listen(library(seen, legacy))
  const { extension } = await connected(
    url, { authorization: { secret: 'HARBOUR_TOKEN' } }, { HARBOUR_TOKEN: 'Bearer s3cr3t-of-the-harbour' },
  )
  expect(seen.every(({ authorization }) => authorization === 'Bearer s3cr3t-of-the-harbour')).toBe(true)
  expect(await call(extension!, 'harbour_echo', { text: 'it is s3cr3t-of-the-harbour' })).toMatchObject({
    content: [{ text: 'it is [secret HARBOUR_TOKEN]' }],
  })
  expect(await call(extension!, 'harbour_list')).toMatchObject({ structuredContent: { result: [1, 2, 3] } })
})

it('sends parameters as headers, and leaves out a tool with an invalid header', async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'harbour', version: '2.0.0' })
    for (const [name, header] of [['moor', 'Berth'], ['sail', 'two words']] as const) {
      const properties = { berth: { type: 'string' as const, 'x-mcp-header': header } }
      server.registerTool(
        name, { description: 'Does.', inputSchema: fromJsonSchema({ type: 'object', properties }) }, () => text(name),
      )
    }
    return server
  })
  const seen: IncomingMessage['headers'][] = []
  const { extension, servers } = await connected(await listen((request, response) => {
    seen.push(request.headers)
    void respond(handler.fetch, request, response)
  }))
  expect([...extension!.definitions.keys()]).toEqual(['harbour_moor'])
  expect(servers.offer(resolved({ harbour: { type: 'remote', url: extension!.server.address } })).diagnostics)
    .toMatchObject([{ code: 'ShapeInvalid', message: expect.stringContaining('"sail" declares a header') }])
  expect(await call(extension!, 'harbour_moor', { berth: 'north' })).toMatchObject({ content: [{ text: 'moor' }] })
  expect(seen.at(-1)).toMatchObject({ 'mcp-param-berth': 'north' })
})

it('leaves out invalid tools and content blocks in the newer era too', async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'harbour', version: '2.0.0' })
    for (const name of ['moor', 'sail']) {
      server.registerTool(name, { description: 'Does.', inputSchema: none }, () => ({
        content: [
          { type: 'text' as const, text: name }, { type: 'text' as const, text: 'spoilt' },
        ],
      }))
    }
    return server
  }, { legacy: 'reject' })
  const spoil = (value: string): string =>
    value.replace('"name":"sail"', '"nom":"sail"').replace('"type":"text","text":"spoilt"', '"type":"video"')
  const { extension, servers } = await connected(await listen((request, response) => void respond(async (asked) => {
    const answer = await handler.fetch(asked)
    const isWhole = answer.headers.get('content-type')?.startsWith('application/json') ?? false
    return isWhole
      ? new Response(spoil(await answer.text()), { headers: { 'content-type': 'application/json' } })
      : answer
  }, request, response)))
  expect(servers.status).toMatchObject([{ state: 'connected', tools: 1 }])
  expect(await call(extension!, 'harbour_moor')).toMatchObject({
    content: [{ text: 'moor' }, { text: expect.stringContaining('an unsupported block of type "video"') }],
  })
})

it('asks the person of the call that a remote server has a question about', async () => {
  const { extension } = await connected(await listen(library()))
  const berths = ['north', 'south']
  const answers = await Promise.all(berths.map((berth) =>
    call(extension!, 'harbour_ask', {}, { interact: { ask: async () => berth } as unknown as Interact })))
  expect(answers).toMatchObject(berths.map((berth) => ({ content: [{ text: `berth ${berth}` }] })))
})

it('does not connect if a secret is not set, and names it', async () => {
  const seen: Record<string, unknown>[] = []
  const { servers } = await connected(await listen(library(seen)), { authorization: { secret: 'HARBOUR_TOKEN' } })
  expect(servers.status).toMatchObject([
    { state: 'unavailable', error: { code: 'EnvNameNotSet', message: expect.stringContaining('HARBOUR_TOKEN') } },
  ])
  expect(seen).toEqual([])
})

it.each([401, 403])('advises how to authorize for status %i', async (status) => {
  const { servers } = await connected(
    await listen((_request, response) => response.writeHead(status).end('s3cr3t-of-the-harbour')),
  )
  expect(servers.status).toMatchObject([
    {
      error: {
        code: 'ServerUnavailable',
        message: expect.stringContaining(`it responds with status ${status}. Name the variable`),
      },
    },
  ])
})

it('does not send secrets to a redirect target', async () => {
  const elsewhere: Record<string, unknown>[] = []
  const other = await listen(library(elsewhere))
  const url = await listen((_request, response) => response.writeHead(307, { location: other }).end())
  const { servers } = await connected(url, { authorization: { secret: 'T' } }, { T: 'Bearer s3cr3t-of-the-harbour' })
  expect(servers.status).toMatchObject([{ state: 'unavailable' }])
  expect(elsewhere).toEqual([])
})

it('reports a server that cannot be reached as unavailable', async () => {
  const { extension, servers } = await connected(await listen(library()))
  open[0]!.closeAllConnections()
  await new Promise((done) => open[0]!.close(done))
  await expect(call(extension!, 'harbour_echo', { text: 'x' })).rejects.toMatchObject({ code: 'ServerUnavailable' })
  expect(servers.status).toMatchObject([{ state: 'unavailable', tools: 3 }])
})

it('limits an endless response', async () => {
  const serve = library()
  const drown = vi.fn<(response: ServerResponse) => void>((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const pour = (error?: Error | null): void => void (error || response.write('x'.repeat(1 << 20), pour))
    pour()
  })
  const url = await listen((request, response) => {
    if (request.headers['mcp-method'] === 'tools/call') drown(response)
    else serve(request, response)
  })
  const { extension } = await connected(url)
  await expect(call(extension!, 'harbour_echo', { text: 'x' })).rejects.toMatchObject({ code: 'MessageTooLarge' })
  expect(drown).toHaveBeenCalled()
})
