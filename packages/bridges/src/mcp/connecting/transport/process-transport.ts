import { setImmediate as nextTurn } from 'node:timers/promises'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import {
  deserializeMessage, INTERNAL_ERROR, serializeMessage, type JSONRPCMessage, type Transport,
} from '@modelcontextprotocol/client'
import { LineReader } from '../../../connected/line-reader.ts'
import type { LocalTarget } from '../../../connected/local-server.ts'
import { ServerProcess } from '../../../connected/server-process.ts'

export interface ProcessOptions extends LocalTarget {
  readonly maxMessageBytes: number
  /** Must not throw. */
  onStderr(line: string): void
}

/** A server as a child process that writes one message to a line. */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #options: ProcessOptions
  readonly #process: ServerProcess

  constructor(options: ProcessOptions) {
    this.#options = options
    const lines = new LineReader(options.maxMessageBytes)
    this.#process = new ServerProcess({
      ...options,
      onOutput: async (chunk) => {
        for (const line of lines.read(chunk)) await this.#receive(line)
      },
      onEnd: (fault) => {
        if (fault) this.onerror?.(fault)
        this.onclose?.()
      },
    })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  start(): Promise<void> {
    return this.#process.start()
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#process.write(serializeMessage(message))
  }

  close(): Promise<void> {
    return this.#process.close()
  }

  #receive(line: string): Promise<void> | undefined {
    if (line.trim() === '') return undefined
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch {
      this.#options.onStderr(`(invalid message) ${line.slice(0, 1_000)}`)
      const id = answeredId(line)
      if (id === undefined) return undefined
      message = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'The server sent an invalid message.' } }
    }
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
    }
    // The SDK handles notifications in a later turn. A response that follows must not settle the call before that.
    return 'id' in message ? undefined : nextTurn()
  }
}

/** The request that an invalid response belongs to. Without it, the request would wait until its timeout. */
function answeredId(line: string): string | number | undefined {
  const parsed = parseJson(line)
  const { id, method } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  return method === undefined && (typeof id === 'string' || typeof id === 'number') ? id : undefined
}
