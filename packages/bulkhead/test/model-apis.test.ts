import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { Json } from '@bulkhead/kit/json'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answer as answerByChat } from '../../bridges/test/examples/chat.ts'
import { report } from '../../bridges/test/examples/report.ts'
import { answer as answerByResponses } from '../../bridges/test/examples/responses.ts'
import { answer as answerByText } from '../../bridges/test/examples/text.ts'
import { OpenAI } from '../../bridges/test/openai/sdk.ts'
import type { Host, Session } from '../src/index.ts'
import { agentWorld } from './agent-world.ts'

type Body = Record<string, Json>

/** What a strict model sends: null for every argument that it leaves out. */
const CALL = {
  name: 'read', arguments: '{"path":"notes.md","offset":null,"limit":null,"byte_start":null,"byte_end":null}',
}

/** A model that reads a file in its first answer, and then ends. */
const respond = ({ previous_response_id: previous }: Body): Json => ({
  id: 'r1', object: 'response',
  output: [
    previous === null
      ? { type: 'function_call', id: 'f1', call_id: 'c1', status: 'completed', ...CALL }
      : {
          type: 'message', id: 'm1', role: 'assistant', status: 'completed',
          content: [{ type: 'output_text', text: 'Friday.', annotations: [] }],
        },
  ],
})

const complete = ({ messages }: Body): readonly Json[] =>
  (messages as readonly Json[]).length > 1
    ? [{ content: 'Fri' }, { content: 'day.' }]
    : [
        { tool_calls: [{ index: 0, id: 'c2', type: 'function', function: { name: CALL.name, arguments: '' } }] },
        ...[CALL.arguments.slice(0, 9), CALL.arguments.slice(9)].map((part) => ({
          tool_calls: [{ index: 0, function: { arguments: part } }],
        })),
      ]

const asStream = (deltas: readonly Json[]): string =>
  [
    ...deltas.map((delta) =>
      JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta }] }),
    ),
    '[DONE]',
  ]
    .map((chunk) => `data: ${chunk}\n\n`)
    .join('')

let world: Awaited<ReturnType<typeof agentWorld>>
let host: Host
let session: Session
let server: Server
let client: OpenAI
let requests: Body[]

beforeAll(async () => {
  world = await agentWorld()
  host = world.host
  writeFileSync(join(world.workspace, 'notes.md'), 'Ship on Friday.\n')
  server = createServer((request, response) => void textOf(request).then((written) => {
    const body = JSON.parse(written) as Body
    requests.push(body)
    const [type, text] = request.url === '/v1/responses'
      ? ['application/json', JSON.stringify(respond(body))] : ['text/event-stream', asStream(complete(body))]
    response.writeHead(200, { 'content-type': type }).end(text)
  })).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'key', maxRetries: 0 })
})
afterAll(async () => {
  server.close()
  await world.end()
})
beforeEach(async () => {
  requests = []
  session = await host.openSession()
  return () => session.close()
})

describe('the examples of docs/guides/models.md', () => {
  const expectExchange = (): void => {
    expect(JSON.stringify(requests[0]!['tools'])).toContain('"strict":true')
    expect(JSON.stringify(requests[1])).toContain('Ship on Friday.')
  }

  it('run with the Responses API of OpenAI', async () => {
    expect(await answerByResponses(client, host, session, 'When?')).toBe('Friday.')
    expectExchange()
  })

  it('run with a stream of chat completions of OpenAI', async () => {
    const shown: string[] = []
    expect(await answerByChat(client, host, session, 'When?', (text) => void shown.push(text))).toBe('Friday.')
    expect(shown).toEqual(['read ', 'read {"path":"', `read ${CALL.arguments}`])
    expectExchange()
  })

  it('report what cannot be strict', () => {
    expect(report(session)).toContain('task: "/properties/metadata" accepts members of any name')
  })

  it('run with a model without tool calling', async () => {
    const answers = [
      '```tool_call\n{"name": "read", \n```',
      'Wait.\n<tool_call>{"name": "read", "arguments": {"path": "notes.md"}}</tool_call>', 'Friday.',
    ]
    const seen: string[] = []
    const ask = async (messages: readonly { readonly content: string }[]) =>
      answers[seen.push(messages.at(-1)!.content) - 1]!
    expect(await answerByText(ask, host, session, 'When?')).toBe('Friday.')
    expect(seen).toEqual(['When?', expect.stringContaining('InvalidJson'), expect.stringContaining('Ship on Friday.')])
  })
})
