import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BulkheadError, type JailedStart } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { markOption, newProcessMark } from '@bulkhead/kit/processes'
import {
  deserializeMessage, INTERNAL_ERROR, serializeMessage, type JSONRPCMessage, type Transport,
} from '@modelcontextprotocol/client'
import type { LocalTarget } from '../server-entry.ts'
import { launchers, trackGroup, signalGroup } from './process-group.ts'

export interface ProcessOptions extends Omit<LocalTarget, 'type'> {
  readonly maxMessageBytes: number
  /** Must not throw. */
  onStderr(line: string): void
}

/** Time to exit after its input was closed, then after SIGTERM. */
const GRACE_MS = 500
const STDERR_LINE_BYTES = 64 * 1024

/**
 * A server as a child process, connected by its standard streams. It leads a process group. When it or this process
 * ends, the rest of the group and its other descendants are killed.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #options: ProcessOptions
  readonly #ended = Promise.withResolvers<void>()
  #child: ChildProcessWithoutNullStreams | undefined
  #isClosed = false
  /** Why this side ended the process. */
  #fault: Error | undefined

  constructor(options: ProcessOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    if (process.platform === 'win32') {
      const message = 'Local servers are not supported on this system: it has no process groups. Connect over HTTP.'
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const { deathSignal, prlimit } = await launchers()
    const mark = prlimit === undefined ? undefined : newProcessMark()
    const marking = prlimit !== undefined && mark ? [prlimit, markOption(mark), '--'] : []
    const { jail, onStderr } = this.#options
    const jailed = await jail?.of.prepare({ ...this.#options, grant: jail.grant }, onStderr)
    try {
      // A process that is started now would never be ended.
      if (this.#isClosed) throw new Error('The transport was closed while it was starting.')
      const child = startProcess([...deathSignal, ...marking], jailed ?? { ...this.#options, descriptors: [] })
      this.#child = child
      trackGroup(child, mark)
      this.#listen(child)
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve)
        child.once('error', reject)
      })
      jailed?.watch(child.pid!)
      child.once('exit', () => void jailed?.release())
    } catch (error) {
      await jailed?.release()
      throw error
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child
    if (child === undefined || !child.stdin.writable) return Promise.reject(new Error('The server process has ended.'))
    return new Promise((resolve, reject) => {
      child.stdin.write(serializeMessage(message), (error) => error ? reject(error) : resolve())
    })
  }

  /** Closes standard input, then sends SIGTERM, then SIGKILL. Resolves when the process has ended. */
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
    const stderr = new LineReader(STDERR_LINE_BYTES)
    void this.#read(child)
    child.stderr.on('data', (chunk: Buffer) => {
      try {
        for (const line of stderr.read(chunk)) this.#options.onStderr(line)
      } catch {
        child.stderr.removeAllListeners('data').resume()
        this.#options.onStderr('Further standard error is ignored: a line was too long.')
      }
    })
    // Stream errors are reported by the exit of the process.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined)
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      this.#ended.resolve()
      if (this.#fault) this.onerror?.(this.#fault)
      this.onclose?.()
    }
    let timer: NodeJS.Timeout | undefined
    child.once('close', over)
    // A descendant that left the group may keep the streams open.
    child.once('exit', () => {
      timer = setTimeout(over, OUTPUT_GRACE_MS)
    })
    child.once('error', () => {
      if (child.pid === undefined) over()
    })
  }

  /** Applies backpressure: unread output of the server waits in the pipe. */
  async #read({ pid, stdout }: ChildProcessWithoutNullStreams): Promise<void> {
    const lines = new LineReader(this.#options.maxMessageBytes)
    try {
      for await (const chunk of stdout) {
        for (const line of lines.read(chunk as Buffer)) await this.#receive(line)
      }
      // Without standard output the server cannot respond.
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

type Started = Pick<JailedStart, 'command' | 'cwd' | 'env' | 'descriptors'>

/** Starts a process that leads a group of its own. */
function startProcess(
  prefix: readonly string[], { command, cwd, env, descriptors }: Started,
): ChildProcessWithoutNullStreams {
  const [file = '', ...args] = [...prefix, ...command]
  const devNull = descriptors.includes(null) ? openSync('/dev/null', 'r') : undefined
  try {
    const stdio = ['pipe', 'pipe', 'pipe', ...descriptors.map((bytes) => bytes === null ? devNull! : 'pipe' as const)]
    const child = spawn(file, args, { cwd, env, detached: true, stdio: stdio as ['pipe', 'pipe', 'pipe'] })
    descriptors.forEach((bytes, at) => {
      // Without free descriptors there are no streams, contrary to the types.
      const pipe = ((child.stdio ?? []) as readonly unknown[])[STANDARD + at] as Writable | null | undefined
      // A child that ends before it has read this reports it by its exit.
      if (bytes !== null) pipe?.on('error', () => undefined).end(bytes, () => pipe.destroy())
    })
    return child
  } finally {
    if (devNull !== undefined) closeSync(devNull)
  }
}

/** Standard input, output and error. */
const STANDARD = 3

/** The request that an invalid response belongs to. Without it, the request would wait until its timeout. */
function answeredId(line: string): string | number | undefined {
  const parsed = parseJson(line)
  const { id, method } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  return method === undefined && (typeof id === 'string' || typeof id === 'number') ? id : undefined
}

/** Time to read the remaining output after the process has ended. */
const OUTPUT_GRACE_MS = 250

/** Splits bytes into lines of limited length. */
export class LineReader {
  readonly #mostBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /**
   * Returns the complete lines. Throws RangeError if a line is too long: the following lines cannot be separated then.
   */
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
