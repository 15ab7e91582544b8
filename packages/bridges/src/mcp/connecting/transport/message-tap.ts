import type { Transport } from '@modelcontextprotocol/client'

type Handler = NonNullable<Transport['onmessage']>

/**
 * Notes each message once, in both directions, before it is sent or read. The SDK sets one handler after another: while
 * it negotiates a version, and then for the connection, where it calls the handler before.
 */
export function tapMessages(transport: Transport, note: (direction: 'in' | 'out', message: unknown) => void): void {
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    note('out', message)
    return send(message, options)
  }
  let depth = 0
  const noting = (next: Handler): Handler => (message, extra) => {
    if (depth === 0) note('in', message)
    depth++
    try {
      next(message, extra)
    } finally {
      depth--
    }
  }
  let handler = transport.onmessage && noting(transport.onmessage)
  Object.defineProperty(transport, 'onmessage', {
    get: () => handler,
    set: (next: Handler | undefined) => { handler = next && noting(next) },
  })
}
