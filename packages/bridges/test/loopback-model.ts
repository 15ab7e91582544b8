import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** What the model says in one step: text, or calls of tools. */
export type Said = string | readonly { readonly id?: string; readonly name: string; readonly input: unknown }[]

/** What an API sends: its parts are as the test that reads them expects. */
// oxlint-disable-next-line typescript/no-explicit-any
type Body = Record<string, any>
type Call = { readonly id: string; readonly name: string; readonly input: unknown }

/** A model on loopback that says these things, one each step. It speaks the HTTP APIs of OpenAI and Anthropic. */
export interface LoopbackModel {
  /** With `/v1` for OpenAI, without for Anthropic. */
  readonly url: string
  /** The bodies of the requests that it answered from the script, in order. */
  readonly requests: Body[]
  say(...script: readonly Said[]): void
  close(): Promise<void>
}

export async function loopbackModel(): Promise<LoopbackModel> {
  const steps: Said[] = []
  const requests: Body[] = []
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  const next = (body: Body): Said => {
    // Agents make requests of their own, for example for the title of a conversation. They offer no tools.
    if (!Array.isArray(body['tools']) || body['tools'].length === 0) return 'ok'
    requests.push(body)
    return steps.shift() ?? 'done'
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request) || '{}') as Body
    const { pathname } = new URL(request.url!, 'http://loopback')
    const api = APIS[pathname]
    if (api === undefined) return void response.writeHead(404, JSON_TYPE).end('{}')
    const said = next(body)
    const calls: readonly Call[] = typeof said === 'string' ? []
      : said.map(({ id, ...call }, index) => ({ id: id ?? `call-${requests.length}-${index}`, ...call }))
    const whole = api.whole(typeof said === 'string' ? said : '', calls)
    if (body['stream'] !== true) return void response.writeHead(200, JSON_TYPE).end(JSON.stringify(whole))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of api.events(whole)) {
      const head = event['type'] === undefined ? '' : `event: ${event['type']}\n`
      response.write(`${head}data: ${JSON.stringify(event)}\n\n`)
    }
    response.end(pathname.endsWith('completions') ? 'data: [DONE]\n\n' : '')
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    say(...script) {
      steps.splice(0, steps.length, ...script)
      requests.length = 0
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

interface Api {
  whole(said: string, calls: readonly Call[]): Body
  events(whole: Body): Iterable<Body>
}

const CHAT: Api = {
  whole: (said, calls) => ({
    id: 'chat-1', object: 'chat.completion', created: 1, model: 'loopback',
    choices: [{
      index: 0, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      message: {
        role: 'assistant', content: said,
        ...(calls.length > 0 && { tool_calls: calls.map(({ id, name, input }, index) =>
          ({ index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } })) }),
      },
    }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
  * events({ choices: [{ message, finish_reason }], ...rest }) {
    const chunk = { ...rest, object: 'chat.completion.chunk' }
    const { tool_calls: calls = [], ...delta } = message
    yield { ...chunk, usage: null, choices: [{ index: 0, delta, finish_reason: null }] }
    for (const call of calls) {
      yield { ...chunk, usage: null, choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] }
    }
    yield { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] }
  },
}

const RESPONSES: Api = {
  whole: (said, calls) => ({
    id: 'resp-1', object: 'response', created_at: 1, status: 'completed', model: 'loopback', error: null,
    output: [
      ...calls.map(({ id, name, input }) => ({
        type: 'function_call', id: `fc-${id}`, call_id: id, name, arguments: JSON.stringify(input), status: 'completed',
      })),
      ...(said === '' ? [] : [{
        type: 'message', id: 'msg-1', role: 'assistant', status: 'completed',
        content: [{ type: 'output_text', text: said, annotations: [] }],
      }]),
    ],
    usage: {
      input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }),
  * events(response) {
    yield { type: 'response.created', response }
    yield { type: 'response.completed', response }
  },
}

const MESSAGES: Api = {
  whole: (said, calls) => ({
    id: 'msg-1', type: 'message', role: 'assistant', model: 'loopback', stop_sequence: null,
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    content: [
      ...(said === '' ? [] : [{ type: 'text', text: said }]),
      ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
    ],
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
  * events({ content, stop_reason, ...message }) {
    yield { type: 'message_start', message: { ...message, content: [], stop_reason: null } }
    for (const [index, block] of (content as Body[]).entries()) {
      const isText = block['type'] === 'text'
      const content_block = { ...block, ...(isText ? { text: '' } : { input: {} }) }
      yield { type: 'content_block_start', index, content_block }
      const delta = isText ? { type: 'text_delta', text: block['text'] }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }
      yield { type: 'content_block_delta', index, delta }
      yield { type: 'content_block_stop', index }
    }
    yield { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }
    yield { type: 'message_stop' }
  },
}

const APIS: Readonly<Record<string, Api>> =
  { '/v1/chat/completions': CHAT, '/v1/responses': RESPONSES, '/v1/messages': MESSAGES }
