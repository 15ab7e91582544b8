import { setImmediate as nextTurn } from 'node:timers/promises'
import { isJSONRPCRequest, SdkError, SdkErrorCode, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

type Sent = Parameters<StreamableHTTPClientTransport['send']>

/** A server that is reached by Streamable HTTP. A request whose stream has ended for good is rejected: no answer can come. */
export class HttpTransport extends StreamableHTTPClientTransport {
  override async send(...[message, options]: Sent): Promise<void> {
    // Whoever looks after its stream itself needs no word of its end.
    if (!isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined) return super.send(message, options)
    const ended = Promise.withResolvers<void>()
    await super.send(message, { ...options, onRequestStreamEnd: ended.resolve })
    await ended.promise
    // An answer that came before the end is handled by then, and whoever has it does not hear of the end.
    await nextTurn()
    throw new SdkError(SdkErrorCode.ConnectionClosed, 'the stream of its answer ended without one')
  }
}
