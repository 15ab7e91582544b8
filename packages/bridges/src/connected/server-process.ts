import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { BulkheadError, type JailedStart } from '@bulkhead/contract'
import { markOption, newProcessMark } from '@bulkhead/kit/processes'
import { LimitReached } from './backoff.ts'
import { LineReader } from './line-reader.ts'
import type { LocalTarget } from './local-server.ts'
import { launchers, signalGroup, trackGroup } from './process-group.ts'

export interface ServerProcessOptions extends LocalTarget {
  /**
   * Called with the standard output, in order; the next part is read when it has resolved. A RangeError ends the
   * process: a message is too large.
   */
  onOutput(chunk: Buffer): Promise<void> | void
  /** Must not throw. */
  onStderr(line: string): void
  /** Called once, after the process has ended. `fault`: why this side ended it. Must not throw. */
  onEnd(fault: Error | undefined): void
}

/** Time to exit after its input was closed, then after SIGTERM. */
const GRACE_MS = 500
/** Time to read the remaining output after the process has ended. */
const OUTPUT_GRACE_MS = 250
const STDERR_LINE_BYTES = 64 * 1024

/**
 * A server as a child process, connected by its standard streams. It leads a process group. When it or this process
 * ends, the rest of the group and its other descendants are killed.
 */
export class ServerProcess {
  readonly #options: ServerProcessOptions
  readonly #ended = Promise.withResolvers<void>()
  #child: ChildProcessWithoutNullStreams | undefined
  #released: Promise<void> | undefined
  #isClosed = false
  #fault: Error | undefined

  constructor(options: ServerProcessOptions) {
    this.#options = options
  }

  /** Resolves when the process has started. */
  async start(): Promise<void> {
    if (process.platform === 'win32') {
      const message = 'Local servers are not supported on this system: it has no process groups. Connect over HTTP.'
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const { deathSignal, prlimit } = await launchers()
    const mark = prlimit === undefined ? undefined : newProcessMark()
    const marking = prlimit !== undefined && mark ? [prlimit, markOption(mark), '--'] : []
    const { jail, onStderr } = this.#options
    const jailed = await jail?.of.prepare(
      { ...this.#options, grant: jail.grant, keys: jail.keys, denied: jail.denied }, onStderr, jail.onKeyUse,
    )
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
      jailed?.watch(child.pid!, (why) => {
        this.#fault ??= new LimitReached(why)
        onStderr(`${why[0]!.toUpperCase()}${why.slice(1)}.`)
      })
      child.once('exit', () => { this.#released = jailed?.release() })
    } catch (error) {
      await jailed?.release()
      throw error
    }
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when the server has read it, or it fits into the pipe. */
  write(data: string): Promise<void> {
    const child = this.#child
    if (child === undefined || !child.stdin.writable) return Promise.reject(new Error('The server process has ended.'))
    return new Promise((resolve, reject) => {
      child.stdin.write(data, (error) => error ? reject(error) : resolve())
    })
  }

  /** Closes standard input, then sends SIGTERM, then SIGKILL. Resolves when the process has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (child?.pid === undefined) return this.#options.onEnd(undefined)
    const { pid } = child
    child.stdin.end()
    const timers = [
      setTimeout(() => signalGroup(pid, 'SIGTERM'), GRACE_MS),
      setTimeout(() => signalGroup(pid, 'SIGKILL'), 2 * GRACE_MS),
    ]
    await this.#ended.promise
    timers.forEach(clearTimeout)
    // What the jail put into the workspace is gone, too.
    await this.#released
  }

  /** Ends the process at once. */
  kill(fault: Error): void {
    this.#fault ??= fault
    const pid = this.#child?.pid
    if (pid !== undefined) signalGroup(pid, 'SIGKILL')
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
      this.#options.onEnd(this.#fault)
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
  async #read({ stdout }: ChildProcessWithoutNullStreams): Promise<void> {
    try {
      for await (const chunk of stdout) await this.#options.onOutput(chunk as Buffer)
      // Without standard output the server cannot respond.
      void this.close()
    } catch (error) {
      // A broken stream is reported when the process exits.
      if (error instanceof RangeError) this.kill(error)
    }
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
