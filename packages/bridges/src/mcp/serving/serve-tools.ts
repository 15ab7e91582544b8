import type { Server, Transport } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import { versionFault, type Era } from './client-request.ts'
import { PlainCalls } from './plain-calls.ts'
import { listenFault } from './task-extension.ts'
import { MAX_OPEN, notifierOf, ServedClient, type ClientOptions } from './served-client.ts'
import type { ServedHost } from './served-session.ts'

export interface ServeOptions extends ClientOptions {
  /** A transport of the SDK for one client, not started. Default: standard input and output of this process. */
  readonly transport?: Transport
}

export interface Serving {
  /** Resolves when the client has disconnected and its session is closed. Never rejects. */
  readonly closed: Promise<void>
  /** Disconnects. Resolves like `closed`. Idempotent. */
  close(): Promise<void>
}

/**
 * Serves the tools of a host to one MCP client, in one session: its policy applies to every call, and approvals are
 * asked of the person at the client. Ends when the client disconnects or with `close`. The host stays open. Rejects if
 * `openSession` does, or if `@modelcontextprotocol/server` is not installed.
 */
export async function serveTools(host: ServedHost, options: ServeOptions): Promise<Serving> {
  const { maxOpen = MAX_OPEN, onFault } = options
  let clientEra: Era | undefined
  let server: Server | undefined
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const { isSpecType } = await import('@modelcontextprotocol/server')
  const client = await ServedClient.open(host, options, () => clientEra)

  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const transport = new BoundedTransport(options.transport ?? new StdioServerTransport(), {
    maxOpen,
    faultOf: (request) => clientEra === 'modern'
      ? versionFault(request, server?.getNegotiatedProtocolVersion()) ?? listenFault(request)
      : undefined,
    closed: () => resolve(client.end()),
  })
  const handle = serveStdio(({ era }) => {
    clientEra = era
    const { server: made, callTool } = client.serverAndCalls(era)
    server = made
    if (era === 'legacy') transport.plainCalls = new PlainCalls(server, callTool, isSpecType.CallToolResult)
    client.notify = notifierOf(server, onFault)
    return server
  }, { transport, ...(onFault ? { onerror: onFault } : {}) })
  return {
    closed,
    async close() {
      await handle.close()
      await closed
    },
  }
}
