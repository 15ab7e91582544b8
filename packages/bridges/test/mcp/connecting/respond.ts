import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** Answers a request of Node with a handler of the SDK. */
export async function respond(
  handle: (request: Request) => Promise<Response>, incoming: IncomingMessage, outgoing: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming
  const body = method === 'GET' ? null : Readable.toWeb(incoming) as ReadableStream
  const answer = await handle(
    new Request(`http://${headers.host}${url}`, {
      method, headers: headers as Record<string, string>, body, duplex: 'half',
    } as RequestInit),
  )
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) outgoing.end()
  else Readable.fromWeb(answer.body as never).pipe(outgoing)
}
