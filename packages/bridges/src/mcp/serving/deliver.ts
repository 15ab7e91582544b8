import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { serveTools } from './serve-tools.ts'

/** How one call of a tool ended. */
export interface EndedCall {
  readonly tool: ToolDefinition
  readonly outcome: Outcome
}

/** What a client got of it, or why it rejects the result. */
export type DeliveredCall =
  | { readonly structuredContent?: Json; readonly isError: boolean }
  | { readonly fault: string }

/**
 * Serves results to the client of the SDK, which lists the tools and validates each result against the outputSchema.
 * For tests of extensions. Rejects if `@modelcontextprotocol/server` is not installed.
 */
export async function deliverOverMcp(calls: readonly EndedCall[]): Promise<readonly DeliveredCall[]> {
  const tools = [...new Map(calls.map(({ tool }) => [tool.name, tool])).values()]
  const { Client, InMemoryTransport } = await import('@modelcontextprotocol/client')
  const [here, there] = InMemoryTransport.createLinkedPair()
  let outcome: Outcome
  const serving = await serveTools({ on: () => () => undefined }, {
    info: { name: 'bulkhead', version: '1.0.0' }, transport: here,
    openSession: async () =>
      ({ id: 'delivery', tools: () => tools, call: async () => outcome, close: async () => undefined }),
  })
  const client = new Client({ name: 'conformance', version: '1.0.0' })
  try {
    await client.connect(there)
    await client.listTools()
    const delivered: DeliveredCall[] = []
    for (const { tool: { name }, ...call } of calls) {
      outcome = call.outcome
      delivered.push(await client.callTool({ name, arguments: {} }).then(
        ({ structuredContent, isError = false }) =>
          ({ ...(structuredContent !== undefined && { structuredContent: structuredContent as Json }), isError }),
        (error: unknown) => ({ fault: messageOf(error) }),
      ))
    }
    return delivered
  } finally {
    await client.close()
    await serving.close()
  }
}
