import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { BulkheadError, ShellResult } from '@bulkhead/contract'
import type { RedactingStream } from '../secrets/redacting-stream.ts'
import type { Redaction } from '../secrets/redaction.ts'
import { reaper } from '../process/reaper.ts'
import { BoundedOutput } from './bounded-output.ts'
import { startMasked, type Stdio } from '../process/descriptors.ts'
import type { Leftovers, RunTraces } from '../process/run-processes.ts'
import { processesOf, signalProcess } from '../process/run-processes.ts'
import type { LiveOutput, StreamName } from './live-output.ts'
import type { ProcessRow } from '../process/process-table.ts'
import { processRow, processTable } from '../process/process-table.ts'
import { startFault } from '../process/start-error.ts'

/** How many pauses' worth of output may go on once the command has ended. */
const DRAIN_PAUSES = 10
/** The look at who belongs to a run, before the first signal scatters them. */
const LOOK_MS = 100
/** After SIGKILL a process ends at once, but for one that waits for a dead disk. */
const GIVE_UP_MS = 5_000

/** Where the first process of a run cannot be looked at, as without descriptors, the others are known by their marker. */
const NOBODY: ProcessRow = { pid: -1, parent: -1, group: -1, session: -1, started: 0, ended: true }

const STREAMS: readonly StreamName[] = ['stdout', 'stderr']

/** `truncated`: what was written beyond the limit of a stream is not in it. */
export type BoundedShellResult = ShellResult & { readonly truncated: boolean }

export interface RunParts {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly marker: string
  readonly mark: number
  readonly input: string | undefined
  /** Descriptors of the host that the command must not get. */
  readonly masked: readonly number[]
  readonly outputBytes: number
  readonly graceMs: number
  /** How long output may pause once the command has ended while something it started still holds its pipes. */
  readonly drainMs: number
  readonly live: LiveOutput | undefined
  readonly leftovers: Leftovers
  /** What must not be in the output. */
  readonly redaction?: Redaction | undefined
  /** Absent: what is written is kept, and nothing is read but `input`. */
  readonly streams?: RunStreams
}

/** A number is the descriptor of a file, or of one end of a pipe to another run. */
export interface RunStreams {
  readonly stdin?: number | undefined
  readonly stdout: 'kept' | 'nothing' | number
  readonly stderr: 'kept' | 'nothing' | number
  /** From descriptor 3 on. */
  readonly extra?: readonly (number | undefined)[]
}

/**
 * One command in a session of its own, from its start until nothing of it is left. Its result does not wait for whoever
 * else holds its pipes: the end of the command itself counts, and a moment for the rest of the output.
 */
export class Run {
  /** Settles once. */
  readonly result: Promise<BoundedShellResult>
  /** Resolves when no process of it is left, as far as they can be found. Never rejects. */
  readonly gone: Promise<void>
  readonly #parts: RunParts
  readonly #child: ChildProcess
  readonly #traces: RunTraces | undefined
  readonly #outputs: Readonly<Record<StreamName, BoundedOutput>>
  readonly #redactions: Readonly<Record<StreamName, RedactingStream | undefined>>
  readonly #settled = Promise.withResolvers<BoundedShellResult>()
  readonly #exited = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #exit: Pick<ShellResult, 'exitCode' | 'signal'> | undefined
  #groupLives = true
  #over = false
  #received = 0
  #drainTimer: NodeJS.Timeout | undefined

  /** Contract: throws when the system refuses to start it, then or by `result`. */
  constructor(parts: RunParts) {
    this.#parts = parts
    this.result = this.#settled.promise
    // It may be refused before anyone had the time to ask.
    this.result.catch(() => undefined)
    this.gone = this.#gone.promise
    this.#outputs = { stdout: new BoundedOutput(parts.outputBytes), stderr: new BoundedOutput(parts.outputBytes) }
    this.#redactions = { stdout: parts.redaction?.stream(), stderr: parts.redaction?.stream() }
    // Before it starts: this process may be killed at any moment after.
    const holdsMark = reaper.hold('mark', parts.mark)
    try {
      this.#child = start(parts)
    } catch (error) {
      holdsMark()
      throw error
    }
    const { pid } = this.#child
    this.#traces = pid === undefined ? undefined : { leader: processRow(pid) ?? NOBODY, marker: parts.marker, mark: parts.mark, seen: new Set() }
    const holdsGroup = pid === undefined ? undefined : reaper.hold('group', pid)
    void this.gone.then(() => {
      holdsMark()
      holdsGroup?.()
    })
    this.#listen()
  }

  /** It is made to end, and its result says what it had written and how it ended. */
  interrupt(): void {
    if (!this.#over && this.#exit === undefined) void this.#kill()
  }

  /** Idempotent. The result is rejected at once; the processes are asked to end, and then made to. */
  end(reason: BulkheadError): void {
    if (this.#over) return
    this.#close()
    this.#parts.live?.drop()
    this.#settled.reject(reason)
    void this.#kill().then(this.#gone.resolve)
  }

  #listen(): void {
    const child = this.#child
    child.on('error', (error) => {
      if (child.pid !== undefined || this.#over) return
      this.#close()
      this.#settled.reject(startFault(error))
      this.#gone.resolve()
    })
    child.once('exit', (exitCode, signal) => {
      this.#exit = { exitCode, signal }
      this.#groupLives = signalGroup(child.pid!, 0)
      this.#exited.resolve()
      if (!this.#over) this.#drain(performance.now() + DRAIN_PAUSES * this.#parts.drainMs)
    })
    child.once('close', () => {
      if (!this.#over && this.#exit !== undefined) this.#complete(this.#exit)
    })
    for (const name of STREAMS) {
      child[name]?.on('error', () => undefined)
      child[name]?.on('data', (bytes: Buffer) => {
        this.#received += bytes.length
        this.#keep(name, this.#redactions[name]?.push(bytes) ?? bytes)
      })
    }
    // A command need not read what it is given.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(this.#parts.input)
  }

  #keep(name: StreamName, bytes: Buffer): void {
    const kept = this.#outputs[name].add(bytes)
    if (kept.length > 0) this.#parts.live?.add(name, kept)
  }

  /** Everything that was written before the end is read, then what comes without a pause, for a bounded time. */
  #drain(until: number): void {
    const before = this.#received
    this.#drainTimer = setTimeout(() => {
      // A busy event loop runs a late timer before it reads: one round of reading comes first.
      setImmediate(() => {
        if (this.#over || this.#exit === undefined) return
        if (this.#received > before && performance.now() < until) this.#drain(until)
        else this.#complete(this.#exit)
      })
    }, this.#parts.drainMs)
  }

  #complete(exit: Pick<ShellResult, 'exitCode' | 'signal'>): void {
    this.#close()
    for (const name of STREAMS) this.#keep(name, this.#redactions[name]?.end() ?? Buffer.alloc(0))
    this.#parts.live?.flush()
    const { stdout, stderr } = this.#outputs
    const truncated = stdout.truncated || stderr.truncated
    this.#settled.resolve({ ...exit, stdout: stdout.text(), stderr: stderr.text(), truncated })
    this.#signalGroup('SIGKILL')
    void this.#endLeftovers().then(this.#gone.resolve)
  }

  /** Nothing is read or written from here on. */
  #close(): void {
    this.#over = true
    clearTimeout(this.#drainTimer)
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy()
  }

  async #kill(): Promise<void> {
    if (this.#child.pid === undefined) return
    const leader = this.#child.pid
    const traces = this.#traces
    const look = traces && processTable().then((table) => table && processesOf(traces, table))
    const members = look && await within(look, LOOK_MS) || []
    this.#signalGroup('SIGTERM')
    for (const row of members) if (row.group !== leader) signalProcess(row, 'SIGTERM')
    await within(this.#exited.promise, this.#parts.graceMs)
    this.#signalGroup('SIGKILL')
    await within(this.#exited.promise, GIVE_UP_MS)
    await this.#endLeftovers()
  }

  async #endLeftovers(): Promise<void> {
    if (this.#traces !== undefined) await this.#parts.leftovers.end(this.#traces)
  }

  /** A group without members has no name any more: the number may be another's by then. */
  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined && this.#groupLives) this.#groupLives = signalGroup(this.#child.pid, signal)
  }
}

function usualStdio({ input, streams }: RunParts): Stdio {
  const { stdin, stdout = 'kept', stderr = 'kept', extra = [] } = streams ?? {}
  const output = (to: RunStreams['stdout']) => typeof to === 'number' ? to : to === 'nothing' ? 'ignore' : 'pipe'
  const source = stdin ?? (input === undefined ? 'ignore' : 'pipe')
  return [source, output(stdout), output(stderr), ...extra.map((file) => file ?? 'ignore')]
}

function start(parts: RunParts): ChildProcess {
  const { argv, cwd, env, masked } = parts
  const [file = '', ...args] = argv
  try {
    return startMasked(usualStdio(parts), masked, (stdio) => spawn(file, args, { cwd, env, stdio, detached: true, shell: false }))
  } catch (error) {
    throw startFault(error)
  }
}

/** Returns whether the group has members. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal)
  } catch {
    return false
  }
}

/** The value when it comes in time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), ms)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
