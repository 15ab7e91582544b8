import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { markOption, newProcessMark } from '@bulkhead/kit/process-mark'
import { deserializeMessage, INTERNAL_ERROR, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { holders, keepGroup, signalGroup } from './process-group.ts'

export interface ProcessOptions {
  /** The executable and its arguments; no shell reads them. */
  readonly command: readonly string[]
  readonly cwd: string
  /** All that it is given of the environment. */
  readonly env: Readonly<Record<string, string>>
  readonly maxMessageBytes: number
  /** Contract: must not throw. */
  onStderr(line: string): void
}

/** Time to exit after its input was closed, then after SIGTERM. */
const GRACE_MS = 500
const STDERR_LINE_BYTES = 64 * 1024

/**
 * A server as a process of its own, spoken to over its standard streams. It leads a process group, and whatever of that group, or of
 * those it has started, is left when it ends, or when this process ends, is killed.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #options: ProcessOptions
  readonly #ended = Promise.withResolvers<void>()
  #child: ChildProcessWithoutNullStreams | undefined
  #isClosed = false
  /** Why it was ended from here. */
  #fault: Error | undefined

  constructor(options: ProcessOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    if (process.platform === 'win32') {
      const message = 'A local server cannot be held here: this system has no process groups. Reach it over HTTP.'
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const { deathSignal, prlimit } = await holders()
    const mark = prlimit === undefined ? undefined : newProcessMark()
    const marking = prlimit !== undefined && mark ? [prlimit, markOption(mark), '--'] : []
    const [file, ...args] = [...deathSignal, ...marking, ...this.#options.command]
    // Nobody would end one that is started now.
    if (this.#isClosed) throw new Error('The transport was closed before it had started.')
    const { cwd, env } = this.#options
    const child = spawn(file!, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    keepGroup(child, mark)
    this.#listen(child)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child
    if (child === undefined || !child.stdin.writable) return Promise.reject(new Error('The process of the server has ended.'))
    return new Promise((resolve, reject) => {
      child.stdin.write(serializeMessage(message), (error) => error ? reject(error) : resolve())
    })
  }

  /** Ends its input, tells it to end, and kills it when it does not. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (child?.pid === undefined) return this.onclose?.()
    const { pid } = child
    child.stdin.end()
    const timers = [
      setTimeout(() => signalGroup(pid, 'SIGTERM'), GRACE_MS),
      setTimeout(() => signalGroup(pid, 'SIGKILL'), 2 * GRACE_MS),
    ]
    await this.#ended.promise
    timers.forEach(clearTimeout)
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const said = new LineReader(STDERR_LINE_BYTES)
    void this.#read(child)
    child.stderr.on('data', (chunk: Buffer) => {
      try {
        for (const line of said.read(chunk)) this.#options.onStderr(line)
      } catch {
        child.stderr.removeAllListeners('data').resume()
        this.#options.onStderr('What else it says is not kept: a line of it had no end.')
      }
    })
    // A process that ends while it is written to says so by its end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined)
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      clearTimeout(patience)
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      this.#ended.resolve()
      if (this.#fault) this.onerror?.(this.#fault)
      this.onclose?.()
    }
    let patience: NodeJS.Timeout | undefined
    child.once('close', over)
    // One that has left the group can hold the streams open for as long as it likes.
    child.once('exit', () => {
      patience = setTimeout(over, LAST_WORDS_MS)
    })
    child.once('error', () => {
      if (child.pid === undefined) over()
    })
  }

  /** Reads no faster than is understood: what a server floods us with waits in its pipe. */
  async #read({ pid, stdout }: ChildProcessWithoutNullStreams): Promise<void> {
    const lines = new LineReader(this.#options.maxMessageBytes)
    try {
      for await (const chunk of stdout) {
        for (const line of lines.read(chunk as Buffer)) await this.#receive(line)
      }
      // Nothing can be answered any more, whether it goes on or not.
      void this.close()
    } catch (error) {
      // A broken stream is reported when the process exits.
      if (!(error instanceof RangeError) || pid === undefined) return
      this.#fault = error
      signalGroup(pid, 'SIGKILL')
    }
  }

  #receive(line: string): Promise<void> | undefined {
    if (line.trim() === '') return undefined
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch {
      this.#options.onStderr(`(not a message) ${line.slice(0, 1_000)}`)
      const id = answeredId(line)
      if (id === undefined) return undefined
      message = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'The server answered with what is no message of the protocol.' } }
    }
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
    }
    // Notifications are handled in a later turn, by when the answer that stands behind them must not have ended the call.
    return 'id' in message ? undefined : nextTurn()
  }
}

/** The request that something is meant to answer which is no message. Nobody would hear of it otherwise. */
function answeredId(line: string): string | number | undefined {
  const parsed = parseJson(line)
  const { id, method } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  return method === undefined && (typeof id === 'string' || typeof id === 'number') ? id : undefined
}

/** What it said last may still be on its way when it has ended. */
const LAST_WORDS_MS = 250

/** Splits bytes into lines of limited length. */
export class LineReader {
  readonly #mostBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Returns the complete lines. Throws RangeError if a line is too long: the following lines cannot be separated then. */
  read(chunk: Buffer): readonly string[] {
    const lines: string[] = []
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end))
      lines.push(this.#take())
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
    return lines
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > this.#mostBytes) throw new RangeError(`A line has more than ${this.#mostBytes} bytes.`)
    if (part.length > 0) this.#parts.push(part)
  }

  #take(): string {
    const line = Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
}

const LF = 0x0a
