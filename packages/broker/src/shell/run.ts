import { spawn, type ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { BulkheadError, ShellResult } from '@bulkhead/contract'
import type { RedactingStream, Redaction } from '../secrets/redaction.ts'
import { reaper } from '../process/reaper.ts'
import { BoundedOutput, type LiveOutput, type StreamName } from './output.ts'
import { sendWhole, startMasked, startError, type Stdio } from '../process/spawn.ts'
import { encodeOrder, launcherCommand, type Launch, type LaunchWall, type SpareLauncher } from '../walls/launcher.ts'
import { FILTER_FD } from './wall-form.ts'
import {
  processesOf, processRow, processTable, signalProcess, type LeftoverProcesses, type ProcessRow, type RunIdentity,
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
export type BoundedShellResult = ShellResult & { readonly truncated: boolean }

export interface RunParts {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly marker: string
  readonly mark: number
  readonly input: string | undefined
  /** Descriptors of the host that the command must not inherit. */
  readonly masked: readonly number[]
  readonly outputBytes: number
  readonly graceMs: number
  /** How long output may pause after the command has ended, while a process it started still holds its pipes. */
  readonly drainMs: number
  readonly live: LiveOutput | undefined
  readonly leftovers: LeftoverProcesses
  /** Removes secrets from the output. */
  readonly redaction?: Redaction | undefined
  /** Absent: stdout and stderr are kept, and stdin is `input`. */
  readonly streams?: RunStreams
  readonly wall?: RunWall | undefined
}

/** A number is a descriptor of a file, or of one end of a pipe to another run. */
export interface RunStreams {
  readonly stdin?: number | undefined
  readonly stdout: 'kept' | 'nothing' | number
  readonly stderr: 'kept' | 'nothing' | number
  /** From descriptor 3 on. */
  readonly extra?: readonly (number | undefined)[]
}

/** How a command gets behind its wall, unless its own arguments do that. */
export interface RunWall {
  /** The launcher starts the command behind this wall. */
  readonly launch?: LaunchWall | undefined
  readonly spares: SpareLauncher
  /** The launcher runs in a network of its own: the command that runs another one there. */
  readonly network?: ((descriptors: readonly number[], command: readonly string[]) => readonly string[]) | undefined
  /** Bytes that the first program reads from FILTER_FD. */
  readonly filter?: Uint8Array | undefined
}

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
  readonly #outputs: Readonly<Record<StreamName, BoundedOutput>>
  readonly #redactions: Readonly<Record<StreamName, RedactingStream | undefined>>
  readonly #settled = Promise.withResolvers<BoundedShellResult>()
  readonly #exited = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #exit: Pick<ShellResult, 'exitCode' | 'signal'> | undefined
  #groupLives = true
  #closed = false
  #over = false
  #received = 0
  #drainTimer: NodeJS.Timeout | undefined

  /** Contract: if the system cannot start it, this throws or `result` rejects. */
  constructor(parts: RunParts) {
    this.#parts = parts
    this.result = this.#settled.promise
    // It may reject before the caller can attach a handler.
    this.result.catch(() => undefined)
    this.gone = this.#gone.promise
    this.#outputs = { stdout: new BoundedOutput(parts.outputBytes), stderr: new BoundedOutput(parts.outputBytes) }
    this.#redactions = { stdout: parts.redaction?.stream(), stderr: parts.redaction?.stream() }
    // Before the start, because the host may be killed at any time after it.
    const releaseMark = reaper.hold('mark', parts.mark)
    try {
      const { child, started } = start(parts)
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
  }

  /** Reads what was written before the end, then what follows without a pause, for a bounded time. */
  #drain(until: number): void {
    const before = this.#received
    this.#drainTimer = setTimeout(() => {
      // A busy event loop runs a late timer before it reads. Let it read first.
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

  /** Closes all streams. */
  #close(): void {
    this.#over = true
    clearTimeout(this.#drainTimer)
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy()
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

function stdioOf({ input, streams, wall }: RunParts): Stdio {
  const { stdin, stdout = 'kept', stderr = 'kept', extra = [] } = streams ?? {}
  const output = (to: RunStreams['stdout']) => typeof to === 'number' ? to : to === 'nothing' ? 'ignore' : 'pipe'
  const source = stdin ?? (input === undefined ? 'ignore' : 'pipe')
  const more = extra.map((file) => file ?? 'ignore' as const)
  const filter = wall?.filter === undefined ? []
    : [...Array.from({ length: FILTER_FD - 3 - more.length }, () => 'ignore' as const), 'pipe' as const]
  return [source, output(stdout), output(stderr), ...more, ...filter]
}

interface StartedChild {
  readonly child: ChildProcess
  readonly started?: Promise<void>
}

function start(parts: RunParts): StartedChild {
  const { argv, cwd, env, mark, masked, wall } = parts
  const [file = '', ...args] = argv
  try {
    if (wall?.launch !== undefined) {
      const limits = new Map([...wall.launch.limits ?? [], ['locks', mark] as const])
      const given: Launch = { argv: [file, ...args], env, wall: { ...wall.launch, limits } }
      return wall.network === undefined ? wall.spares.launch({ ...given, cwd }, stdioOf(parts))
        : { child: startInNetwork(parts, given, wall.network) }
    }
    const child = startMasked(stdioOf(parts), masked, (stdio) =>
      spawn(file, args, { cwd, env, stdio, detached: true, shell: false }))
    const pipe = (child.stdio as readonly unknown[] | undefined)?.[FILTER_FD]
    if (wall?.filter !== undefined && pipe) sendWhole(pipe as Duplex, wall.filter)
    return { child }
  } catch (error) {
    throw startError(error)
  }
}

/** The order of the launcher takes the place of the filter. */
function startInNetwork(parts: RunParts, given: Launch, network: NonNullable<RunWall['network']>): ChildProcess {
  const { cwd, masked } = parts
  const all = stdioOf(parts)
  const stdio = Array.from({ length: FILTER_FD + 1 }, (_, fd) => fd === FILTER_FD ? 'pipe' : all[fd] ?? 'ignore')
  const descriptors = all.flatMap((kind, fd) => fd > 2 && kind !== 'ignore' ? [fd] : [])
  const [file = '', ...args] = network([0, 1, 2, ...descriptors, FILTER_FD], launcherCommand(FILTER_FD))
  // The programs in front of the wall get none of the variables.
  const child = startMasked(stdio, masked, (each) => spawn(file, args, { cwd, env: {}, stdio: each, detached: true }))
  const pipe = (child.stdio as readonly unknown[] | undefined)?.[FILTER_FD]
  if (pipe) sendWhole(pipe as Duplex, encodeOrder({ ...given, descriptors }))
  return child
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
