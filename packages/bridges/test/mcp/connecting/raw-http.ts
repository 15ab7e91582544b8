import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Responds to a call of the only tool, `go`. */
export type Answering = (response: ServerResponse, id: number, args: Readonly<Record<string, unknown>>) => void

/** A remote server of the older era with arbitrary responses to calls. */
export class RawHttp {
  readonly #answer: Answering
  readonly #server: Server

  constructor(answering: Answering) {
    this.#answer = answering
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        if (request.method === 'POST') this.#handle(JSON.parse(body), response)
        else response.writeHead(405).end()
      })
    })
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #handle(
    { id, method, params }: { id?: number; method: string; params: { arguments: Record<string, unknown> } },
    response: ServerResponse,
  ): void {
    if (id === undefined) return void response.writeHead(202).end()
    switch (method) {
      case 'initialize':
        return answer(response, id, {
          protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' },
        })
      case 'tools/list':
        return answer(response, id, { tools: [{ name: 'go', inputSchema: { type: 'object' } }] })
      case 'tools/call':
        return this.#answer(response, id, params.arguments)
      default:
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }))
    }
  }
}

export function answer(response: ServerResponse, id: number, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

export const textResult = (value: string) => ({ content: [{ type: 'text', text: value }] })
