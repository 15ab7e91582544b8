import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { listTools } from '../../../src/mcp/connecting/transport/lists.ts'

it('no further page is read of a list that is too long', async () => {
  let pages = 0
  const client: Pick<Client, 'getServerCapabilities'> & { readonly request: () => Promise<unknown> } = {
    getServerCapabilities: () => ({ tools: {} }),
    request: async () => ({ tools: Array.from({ length: 100 }, () => ({ name: 'x' })), nextCursor: `${++pages}` }),
  }
  expect(await listTools(client as unknown as Client, AbortSignal.timeout(60_000))).toHaveLength(300)
  expect(pages).toBe(3)
})
