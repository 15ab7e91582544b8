import { spawn, type ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { RuleSet } from './landlock.ts'

/**
 * The launcher puts a wall around itself and then becomes a program: the pid, the group and the pipes stay. The wall is
 * no-new-privileges, no capabilities, Landlock, a seccomp filter, resource limits and no descriptors but the wanted
 * ones, and the program ends with the host. If any part of it fails, nothing runs: the launcher exits with LAUNCH_FAILED
 * and says why on stderr.
 *
 * Three ways to use it:
 * - `launch` starts a program behind its wall.
 * - `SpareLauncher.launch` does the same with a launcher that is already running, which saves the start of Node.
 * - `launcherCommand` and `encodeOrder` are for a program that another one starts, such as `unshare`: the command goes at
 *   its end, and the order is written to the descriptor.
 */
export interface Launch {
  /** The program, as an absolute path, and its arguments. */
  readonly argv: readonly [program: string, ...args: string[]]
  /** All variables of the program. The launcher itself runs without any. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly wall: LaunchWall
  /** The folder of the program. Default: the one that the launcher is started in. */
  readonly cwd?: string | undefined
  /** Descriptors from 3 on that the program gets. */
  readonly descriptors?: readonly number[]
}

export interface LaunchWall {
  /** Files and ports, from `ruleSet`. Absent: files and ports are not limited. */
  readonly rules?: RuleSet | undefined
  /** From `launcherFilter`. Absent: system calls are not limited. */
  readonly filter?: Uint8Array | undefined
  /** Soft and hard limits by their `prlimit` names. `locks` takes the mark of a run. */
  readonly limits?: ReadonlyMap<string, number> | undefined
  /** Only root can become another user. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

/** The exit code of a launcher that started nothing. A program can have it too; `started` tells the difference. */
export const LAUNCH_FAILED = 125

/** What a launcher writes before it executes the program. */
const READY = '+'

const LAUNCHER = fileURLToPath(new URL('../../launch.cjs', import.meta.url))
const FLAGS = ['--disable-warning=ExperimentalWarning', '--disable-sigusr1']
/** Explicit, because a host with Node's permission model would hand its own rights down. */
const RIGHTS = ['--permission', '--allow-fs-read=*', '--allow-ffi']

/** The command of a launcher that reads its order from this descriptor. Start it without variables. */
export const launcherCommand = (orderFd: number): readonly [string, ...string[]] =>
  [process.execPath, ...FLAGS, ...(process.permission === undefined ? [] : RIGHTS), LAUNCHER, String(orderFd)]

interface OrderOptions {
  /** The process that starts the launcher, if it is the parent: the launcher ends if that one has. */
  readonly parent?: number
  /** Descriptors that the program gets as /dev/null. */
  readonly nothing?: readonly number[]
}

/** A launcher's order, as bytes to write to its descriptor. */
export function encodeOrder(
  { argv, env, wall: { rules, filter, limits = new Map(), user }, cwd, descriptors = [] }: Launch,
  { parent, nothing = [] }: OrderOptions = {},
): Uint8Array {
  const paths = rules?.paths.map(([path]) => path) ?? []
  const strings = [...argv, ...Object.entries(env).map((pair) => pair.join('=')), cwd ?? '', ...paths]
  if (strings.some((text) => text.includes('\0'))) throw new TypeError('A NUL character cannot be passed to a program.')
  const order = Buffer.from(JSON.stringify({
    argv,
    env: Object.entries(env).flatMap(([name, value]) => value === undefined ? [] : [`${name}=${value}`]),
    cwd, parent, nothing,
    descriptors: [0, 1, 2, ...descriptors],
    wall: { rules, filter: filter && Buffer.from(filter).toString('base64'), limits: Object.fromEntries(limits), user },
  }))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(order.length)
  return Buffer.concat([length, order])
}

/** The first three are stdin, stdout and stderr; the others are descriptors of the program from 3 on. */
export type LaunchStdio = readonly ('pipe' | 'ignore' | number)[]

export interface Launched {
  /** Leads its own session and process group. `close` comes as usual; there is one more stream at the end of `stdio`. */
  readonly child: ChildProcess
  /** Resolves when the program runs behind its wall. Rejects with LaunchError if nothing runs. */
  readonly started: Promise<void>
}

/** The wall could not be made, or the program not be executed. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError'
  readonly step: string
  readonly code: string

  constructor(step: string, code: string) {
    super(`The program was not started: ${step} failed (${code}).`)
    this.step = step
    this.code = code
  }
}

/** Starts a program behind its wall, in its own session. Contract: throws as `spawn` does. */
export function launch(given: Launch, stdio: LaunchStdio): Launched {
  const all = Array.from({ length: Math.max(stdio.length, 3) }, (_, fd) => stdio[fd] ?? 'ignore')
  const descriptors = all.flatMap((kind, fd) => fd > 2 && kind !== 'ignore' ? [fd] : [])
  const order = encodeOrder({ ...given, cwd: undefined, descriptors }, { parent: process.pid })
  return hand(order, startLauncher(all, given.cwd ?? '/'))
}

function startLauncher(stdio: LaunchStdio, cwd: string, ...more: readonly string[]): ChildProcess {
  const [node, ...args] = launcherCommand(stdio.length)
  return spawn(node, [...args, ...more], { cwd, env: {}, detached: true, stdio: [...stdio, 'pipe'] })
}

/** Gives a launcher its order. */
function hand(order: Uint8Array, child: ChildProcess): Launched {
  // Without free descriptors there are no streams, contrary to the types.
  const pipe = ((child.stdio ?? []) as readonly unknown[]).at(-1) as Duplex | undefined
  const started = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    if (pipe === undefined) return
    let report = ''
    pipe.setEncoding('utf8').on('data', (text: string) => {
      report += text
    })
    // The kernel closes it when the program is executed.
    pipe.once('close', () => report === READY ? resolve() : reject(errorOf(report)))
    pipe.on('error', () => undefined)
    pipe.write(order)
  })
  // The caller may look at the exit only.
  started.catch(() => undefined)
  return { child, started }
}

function errorOf(report: string): LaunchError {
  try {
    const { step, code } = JSON.parse(report.replace(READY, '')) as { readonly step: string; readonly code: string }
    return new LaunchError(String(step), String(code))
  } catch {
    return new LaunchError('the launcher', 'it ended without a report')
  }
}

/** By then the outcome of a command is usually on its way. */
const REPLACE_AFTER_MS = 20
/** The last one is for the report of a whole pipe. */
const SPARE_PIPES = ['pipe', 'pipe', 'pipe', 'pipe'] as const

/**
 * One launcher that waits for its order, so that a command does not wait for the start of Node. It starts after the
 * first use, is replaced after each use, and ends with the host. It keeps nothing running.
 */
export class SpareLauncher {
  #spare: ChildProcess | undefined
  #closed = false

  /** Whether a launcher waits for its order, or will when it has started. */
  get waits(): boolean {
    return this.#spare !== undefined
  }

  /**
   * As `launch`. A program with descriptors of the host, instead of pipes or nothing, gets a new launcher: a running one
   * cannot inherit them.
   */
  launch(given: Launch, stdio: LaunchStdio): Launched {
    const spare = this.#spare
    const isUsable = spare !== undefined && spare.exitCode === null && spare.signalCode === null
      && stdio.length <= SPARE_PIPES.length && stdio.every((kind) => typeof kind === 'string')
    const launched = isUsable ? this.#use(spare, given, stdio) : launch(given, stdio)
    // Starting a process takes this thread some milliseconds, which neither the program nor its outcome waits for.
    launched.child.once('exit', () => setTimeout(() => this.#replace(), REPLACE_AFTER_MS).unref())
    return launched
  }

  /** Ends the spare. Idempotent. */
  close(): void {
    this.#closed = true
    this.#spare?.kill('SIGKILL')
    this.#spare = undefined
  }

  #use(spare: ChildProcess, given: Launch, stdio: LaunchStdio): Launched {
    const nothing = [0, 1, 2].filter((fd) => (stdio[fd] ?? 'ignore') === 'ignore')
    // The folder may be named by a descriptor of this process.
    const cwd = (given.cwd ?? '/').replace(/^\/proc\/self\//, `/proc/${process.pid}/`)
    const descriptors = SPARE_PIPES.flatMap((_, fd) => fd > 2 && stdio[fd] === 'pipe' ? [fd] : [])
    const order = encodeOrder({ ...given, cwd, descriptors }, { nothing, parent: process.pid })
    this.#spare = undefined
    spare.removeAllListeners('error')
    spare.ref()
    for (const stream of spare.stdio) (stream as Partial<RefCounted> | null)?.ref?.()
    for (const [fd] of SPARE_PIPES.entries()) if ((stdio[fd] ?? 'ignore') === 'ignore') spare.stdio[fd]?.destroy()
    return hand(order, spare)
  }

  #replace(): void {
    if (this.#closed || this.#spare !== undefined) return
    try {
      const spare = startLauncher(SPARE_PIPES, '/', 'spare')
      const forget = (): void => {
        if (this.#spare === spare) this.#spare = undefined
      }
      spare.once('error', forget).once('exit', forget).unref()
      for (const stream of spare.stdio) (stream as Partial<RefCounted> | null)?.unref?.()
      this.#spare = spare
    } catch {
      // The system has no room for it now. The next command starts its own launcher.
    }
  }
}

interface RefCounted {
  ref(): void
  unref(): void
}
