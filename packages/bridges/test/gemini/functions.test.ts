import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Content, FunctionCall, GenerateContentResponse, Part, Tool } from '@google/genai'
import { expect, it, onTestFinished } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import {
  fromFunctionCall, FunctionCallStream, toFunctionDeclarations, toFunctionResponse,
} from '../../src/gemini/index.ts'

const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'git.log', origin: null, duration_ms: 1, attempt: 1 }
const log: ToolDefinition = {
  name: 'git/log', label: 'Log', description: 'Lists commits.', requires: {}, mode: 'read', kind: 'read', gated: false,
  idempotent: true, effects: 'idempotent', executor: 'local',
  inputSchema: Object.freeze({
    type: 'object',
    properties: Object.freeze({ count: { type: 'integer', minimum: 1 }, since: { type: 'string', pattern: '^\\d' } }),
    required: ['count'],
  }),
}
const parametersJsonSchema = {
  type: 'object', required: ['count'],
  properties: { count: { type: 'integer', minimum: 1 }, since: { type: 'string', description: '(pattern: "^\\\\d")' } },
}

it('converts tools, calls and results, with and without ids', () => {
  const [declaration] = toFunctionDeclarations([log])
  expect(declaration).toEqual({ name: 'git_log', description: 'Lists commits.', parametersJsonSchema })
  const call: FunctionCall = { name: 'git_log', args: { count: 2 } }
  const options = { tools: [log] }
  expect(fromFunctionCall({ ...call, id: 'f1' }, options)).toEqual({
    id: 'f1', name: 'git/log', arguments: { count: 2 },
  })
  const [one, other] = [fromFunctionCall(call, options), fromFunctionCall({ ...call, id: '' }, options)]
  expect(one.id).toMatch(/^[\w-]{36}$/)
  expect(one.id).not.toBe(other.id)
  expect(toFunctionResponse({ ...call, id: 'f1' }, { type: 'output', data: ['a'], metadata }))
    .toEqual({ id: 'f1', name: 'git_log', response: { output: ['a'] } })
  expect(toFunctionResponse(call, { type: 'output', data: 'a', metadata: { ...metadata, truncated: true } }))
    .toEqual({ name: 'git_log', response: { output: 'a\n[The result was too long and is cut here.]' } })
  const error = { code: 'NotFound', class: 'ToolTerminal', retryable: false } as const
  expect(toFunctionResponse(call, { type: 'error', error_text: 'no', error, metadata })).toEqual({
    name: 'git_log', response: { error: 'no' },
  })
})

it('sends media as parts, and names what the API does not take', () => {
  const part: Part = {
    functionResponse: toFunctionResponse(
      { name: 'git_log' },
      {
        type: 'output', data: null, metadata,
        content: [
          { type: 'text', text: 'See:' }, { type: 'image', data: 'aGk=', mimeType: 'image/png' },
          { type: 'image', data: 'aGk=', mimeType: 'image/gif' },
        ],
      },
    ),
  }
  expect(part.functionResponse).toEqual({
    name: 'git_log', response: { output: expect.stringMatching(/^See:\n.*image\/gif.*not sent/) },
    parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=', displayName: 'result.png' } }],
  })
})

/** Answers each request with the next body, and keeps what was sent. */
async function loopback(...bodies: readonly string[]) {
  const requests: { readonly tools: Tool[]; readonly contents: Content[] }[] = []
  const server = createServer(async (request, response) => {
    requests.push(JSON.parse((await request.toArray()).join('')) as never)
    response
      .setHeader('content-type', request.url!.includes('stream') ? 'text/event-stream' : 'application/json')
      .end(bodies[requests.length - 1])
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { GoogleGenAI } = await import('@google/genai')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { requests, models: new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } }).models }
}

it('declares the schema of results as the output of the response', () => {
  const outputSchema = {
    type: 'object', properties: { next: { $ref: '#/$defs/commit' } }, required: ['next'],
    $defs: { commit: { type: 'object', properties: { id: { type: 'string' } } } },
  }
  const [declaration] = toFunctionDeclarations([{ ...log, outputSchema }])
  expect(declaration!.responseJsonSchema).toEqual({
    type: 'object',
    properties: {
      output: { type: 'object', properties: { next: { $ref: '#/$defs/commit' } }, required: ['next'] },
      error: { type: 'string' },
    },
    $defs: { commit: { type: 'object', properties: { id: { type: 'string' } } } },
  })
  const itself = { type: 'object', properties: { next: { $ref: '#' } } }
  expect(toFunctionDeclarations([{ ...log, outputSchema: itself }])[0]).not.toHaveProperty('responseJsonSchema')
})

/** The types of the SDK are checked by the compiler. Running it takes longer than all other tests of this file. */
it.each(thoroughly([], ['in both directions']))('goes through the SDK %s', async () => {
  const functionCall = { name: 'git_log', args: { count: 2 } }
  const body = (part: Part) => JSON.stringify({ candidates: [{ content: { role: 'model', parts: [part] } }] })
  const { requests, models } = await loopback(
    body({ functionCall }), `data: ${body({ functionCall })}\n\ndata: ${body({ text: 'Done.' })}\n\n`,
  )
  const tools: Tool[] = [{ functionDeclarations: toFunctionDeclarations([log]) }]
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Which?' }] }]
  const response = await models.generateContent({ model: 'gemini-x', contents, config: { tools } })
  const [call] = response.functionCalls!
  expect(fromFunctionCall(call!, { tools: [log] })).toMatchObject({ name: 'git/log', arguments: { count: 2 } })
  contents.push(response.candidates![0]!.content!, {
    role: 'user', parts: [{ functionResponse: toFunctionResponse(call!, { type: 'output', data: ['a'], metadata }) }],
  })
  const stream = new FunctionCallStream()
  for await (const chunk of await models.generateContentStream({ model: 'gemini-x', contents, config: { tools } }))
    stream.add(chunk)
  expect(stream.calls()).toEqual([functionCall])
  expect(requests[0]!.tools).toEqual([
    { functionDeclarations: [{ name: 'git_log', description: 'Lists commits.', parametersJsonSchema }] },
  ])
  expect(requests[1]!.contents.at(-1)).toEqual({
    role: 'user', parts: [{ functionResponse: { name: 'git_log', response: { output: ['a'] } } }],
  })
})

const chunk = (...calls: FunctionCall[]): Pick<GenerateContentResponse, 'candidates'> =>
  ({ candidates: [{ content: { parts: calls.map((functionCall) => ({ functionCall })) } }] })

it('assembles arguments that arrive in pieces', () => {
  const stream = new FunctionCallStream()
  const piece = (jsonPath: string, value: object) =>
    chunk({ partialArgs: [{ jsonPath, ...value }], willContinue: true })
  const completed = [
    chunk({ id: 'f1', name: 'edit', willContinue: true }), piece('$.path', { stringValue: 'a.', willContinue: true }),
    piece('$.path', { stringValue: 'ts' }), piece('$.edits[0].at', { numberValue: 3 }),
    piece("$.edits[1]['at line']", { boolValue: true }), piece('$.none', { nullValue: 'NULL_VALUE' }), chunk({}),
    chunk({ name: 'now', args: { utc: true } }, { name: 'last', willContinue: true }),
  ].map((each) => stream.add(each).length)
  expect(completed).toEqual([0, 0, 0, 0, 0, 0, 1, 1])
  expect(stream.calls().map((call) => ({ ...call, args: JSON.parse(JSON.stringify(call.args)) as unknown }))).toEqual([
    { id: 'f1', name: 'edit', args: { path: 'a.ts', edits: [{ at: 3 }, { 'at line': true }], none: null } },
    { name: 'now', args: { utc: true } }, { name: 'last', args: {} },
  ])
})

it.each([
  '', 'path', '$', '$..path', '$.list[9999]', '$.text.below', '$[0]', `$${'.a'.repeat(65)}`, '$.__proto__.polluted',
  '$.constructor.prototype.polluted',
])('changes nothing else for the path %s', (jsonPath) => {
  const stream = new FunctionCallStream()
  stream.add(chunk({ name: 'x', args: { text: 'kept', list: [] }, partialArgs: [{ jsonPath, stringValue: 'yes' }] }))
  const [{ args }] = stream.calls() as [FunctionCall]
  expect(args).toMatchObject({ text: 'kept' })
  expect(args!['list']).toEqual([])
  expect('polluted' in {}).toBe(false)
})
