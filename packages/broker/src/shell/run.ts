import type { ChildProcess } from 'node:child_process'
import type { BulkheadError, ShellResult } from '@bulkhead/contract'
import type { RedactingStream } from '../secrets/redaction.ts'
import { reaper } from '../process/reaper.ts'
import { BothEnds, BoundedOutput, type StreamName } from './output.ts'
import { startError } from '../process/spawn.ts'
import { reportOf, startRun, type RunParts } from './run-start.ts'
import {
  processesOf, processRow, processTable, signalProcess, type ProcessRow, type RunIdentity,
} from '../process/run-processes.ts'

/** Output after the end of a command is read for at most this many times `drainMs`. */
const DRAIN_PAUSES = 10
/** Time to find the processes of a run before the first signal, after which they may lose their parents. */
const SCAN_MS = 100
/** After SIGKILL a process ends at once, unless it waits in the kernel, for example for a dead disk. */
const GIVE_UP_MS = 5_000

/** Used if the leader cannot be inspected. The other processes are still found by their marker. */
const UNKNOWN_PROCESS: ProcessRow = { pid: -1, parent: -1, group: -1, session: -1, started: 0, ended: true }

const STREAMS: readonly StreamName[] = ['stdout', 'stderr']

/** `truncated`: output beyond the limit of a stream was dropped. */
export type BoundedShellResult = ShellResult & { readonly truncated: boolean; readonly report?: string }

/**
 * One command in its own session, from its start until no process of it is left. The result does not wait for other
 * processes that hold its pipes: it waits for the command itself, and a bounded time for the rest of the output.
 */
export class Run {
  /** Settles once. */
  readonly result: Promise<BoundedShellResult>
  /** Resolves when no process of it is found. Never rejects. */
  readonly gone: Promise<void>
  /** Resolves once it is in its working folder, or was not started. Never rejects. */
  readonly inFolder: Promise<void>
  readonly #parts: RunParts
  readonly #child: ChildProcess
  /** Rejects if the launcher started nothing. */
  readonly #started: Promise<void> | undefined
  readonly #identity: RunIdentity | undefined
  readonly #outputs: Readonly<Record<StreamName, BoundedOutput | BothEnds>>
  readonly #redactions: Readonly<Record<StreamName, RedactingStream | undefined>>
  readonly #settled = Promise.withResolvers<BoundedShellResult>()
  readonly #exited = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #exit: Pick<ShellResult, 'exitCode' | 'signal'> | undefined
  #groupLives = true
  #closed = false
  #over = false
  #received = 0
  /** Parts of the output that are being saved. */
  #saving = 0
  #report: string | undefined
  #drainTimer: NodeJS.Timeout | undefined

  /** Contract: if the system cannot start it, this throws or `result` rejects. */
  constructor(parts: RunParts) {
    this.#parts = parts
    this.result = this.#settled.promise
    // It may reject before the caller can attach a handler.
    this.result.catch(() => undefined)
    this.gone = this.#gone.promise
    const Output = parts.whole === undefined ? BoundedOutput : BothEnds
    this.#outputs = { stdout: new Output(parts.outputBytes), stderr: new Output(parts.outputBytes) }
    this.#redactions = { stdout: parts.redaction?.stream(), stderr: parts.redaction?.stream() }
    // Before the start, because the host may be killed at any time after it.
    const releaseMark = reaper.hold('mark', parts.mark)
    try {
      const { child, started } = startRun(parts)
      this.#child = child
      this.#started = started
      this.inFolder = started === undefined ? Promise.resolve() : started.catch(() => undefined)
    } catch (error) {
      releaseMark()
      throw error
    }
    const { pid } = this.#child
    this.#identity = pid === undefined ? undefined
      : { leader: processRow(pid) ?? UNKNOWN_PROCESS, marker: parts.marker, mark: parts.mark, seen: new Set() }
    const releaseGroup = pid === undefined ? undefined : reaper.hold('group', pid)
    void this.gone.then(() => {
      releaseMark()
      releaseGroup?.()
    })
    this.#listen()
  }

  /** Ends the command. The result then has its output and signal. */
  interrupt(): void {
    if (!this.#over && this.#exit === undefined) void this.#kill()
  }

  /** Idempotent. Rejects the result at once, then ends the processes: SIGTERM, later SIGKILL. */
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
      this.#settled.reject(startError(error))
      this.#gone.resolve()
    })
    child.once('exit', (exitCode, signal) => {
      this.#groupLives = signalGroup(child.pid!, 0)
      this.#exited.resolve()
      const ended = (): void => {
        this.#exit = { exitCode, signal }
        if (this.#over) return
        if (this.#closed) this.#complete(this.#exit)
        else this.#drain(performance.now() + DRAIN_PAUSES * this.#parts.drainMs)
      }
      if (this.#started === undefined) ended()
      else this.#started.then(ended, (error: unknown) => this.end(startError(error)))
    })
    child.once('close', () => {
      this.#closed = true
      if (!this.#over && this.#exit !== undefined) this.#complete(this.#exit)
    })
    const report = reportOf(this.#parts, child)
    if (report !== undefined) this.#report = ''
    report?.on('error', () => undefined).on('data', (bytes: Buffer) => {
      this.#report += bytes.toString('latin1')
    })
    for (const name of STREAMS) {
      child[name]?.on('error', () => undefined)
      child[name]?.on('data', (bytes: Buffer) => {
        this.#received += bytes.length
        this.#keep(name, this.#redactions[name]?.push(bytes) ?? bytes)
      })
    }
    // EPIPE: a command need not read its input.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(this.#parts.input)
  }

  #keep(name: StreamName, bytes: Buffer): void {
    const kept = this.#outputs[name].add(bytes)
    if (kept.length > 0) this.#parts.live?.add(name, kept)
    const saved = bytes.length > 0 ? this.#parts.whole?.add(name, bytes) : undefined
    if (saved) this.#waitFor(saved)
  }

  /** Nothing is read meanwhile, so that output does not gather in memory. */
  #waitFor(saved: Promise<void>): void {
    this.#saving++
    for (const name of STREAMS) this.#child[name]?.pause()
    void saved.then(() => {
      if (--this.#saving === 0) for (const name of STREAMS) this.#child[name]?.resume()
    })
  }

  /** Reads what was written before the end, then what follows without a pause, for a bounded time. */
  #drain(until: number): void {
    const before = this.#received
    this.#drainTimer = setTimeout(() => {
      // A busy event loop runs a late timer before it reads. Let it read first.
      setImmediate(() => {
        if (this.#over || this.#exit === undefined) return
        if (this.#saving > 0 || (this.#received > before && performance.now() < until)) this.#drain(until)
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
    const report = this.#report === undefined ? {} : { report: this.#report }
    this.#settled.resolve({ ...exit, stdout: stdout.text(), stderr: stderr.text(), truncated, ...report })
    this.#signalGroup('SIGKILL')
    void this.#endLeftovers().then(this.#gone.resolve)
  }

  /** Closes all streams. */
  #close(): void {
    this.#over = true
    clearTimeout(this.#drainTimer)
    const { stdin, stdout, stderr } = this.#child
    for (const stream of [stdin, stdout, stderr, reportOf(this.#parts, this.#child)]) stream?.destroy()
  }

  async #kill(): Promise<void> {
    if (this.#child.pid === undefined) return
    const leader = this.#child.pid
    const identity = this.#identity
    const scan = identity && processTable().then((table) => table && processesOf(identity, table))
    const members = scan && await within(scan, SCAN_MS) || []
    this.#signalGroup('SIGTERM')
    for (const row of members) if (row.group !== leader) signalProcess(row, 'SIGTERM')
    await within(this.#exited.promise, this.#parts.graceMs)
    this.#signalGroup('SIGKILL')
    await within(this.#exited.promise, GIVE_UP_MS)
    await this.#endLeftovers()
  }

  async #endLeftovers(): Promise<void> {
    if (this.#identity !== undefined) await this.#parts.leftovers.end(this.#identity)
  }

  /** Once the group is empty, its number may be reused. */
  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined && this.#groupLives) this.#groupLives = signalGroup(this.#child.pid, signal)
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

/** The value, or undefined after `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), ms)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
