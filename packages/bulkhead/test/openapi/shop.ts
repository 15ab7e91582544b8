import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  readonly method: string
  /** As received. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Shop {
  readonly url: string
  readonly seen: SeenRequest[]
  close(): Promise<void>
}

export type Answering = (request: SeenRequest, response: ServerResponse) => void

/** A shop on localhost. */
export async function openShop(answer: Answering): Promise<Shop> {
  const seen: SeenRequest[] = []
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece)
    const request = {
      method: incoming.method!, url: incoming.url!, headers: incoming.headers, body: Buffer.concat(pieces).toString(),
    }
    seen.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`, seen,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The OpenAPI document of the shop. */
export const shopDocument = (more: object = {}) => ({
  openapi: '3.0.3', info: { title: 'Shop', version: '1.2.3' }, servers: [{ url: 'https://shop.example/v1' }],
  paths: {
    '/orders': {
      get: {
        operationId: 'listOrders', summary: 'List orders', tags: ['orders'],
        parameters: [
          { name: 'tag', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
        ],
      },
      post: {
        operationId: 'createOrder', description: 'Creates an order.', tags: ['orders'],
        requestBody: {
          required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
      },
    },
    '/orders/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getOrder', description: 'One order.' },
      delete: { operationId: 'deleteOrder', description: 'Removes an order.' },
    },
  },
  components: {
    schemas: {
      Order: {
        type: 'object', required: ['id', 'item'],
        properties: {
          id: { type: 'integer', format: 'int64', readOnly: true }, item: { type: 'string' },
          note: { type: 'string', nullable: true },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Order' } },
        },
      },
    },
  },
  ...more,
})
