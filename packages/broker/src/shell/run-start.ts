import { spawn, type ChildProcess } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { WholeOutput } from '@bulkhead/contract'
import type { LeftoverProcesses } from '../process/run-processes.ts'
import { sendWhole, startError, startMasked, type Stdio } from '../process/spawn.ts'
import type { Redaction } from '../secrets/redaction.ts'
import { encodeOrder, launcherCommand, type Launch, type LaunchWall, type SpareLauncher } from '../walls/launcher.ts'
import type { LiveOutput } from './output.ts'
import { FILTER_FD, REPORT_FD } from './wall-form.ts'

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
  /** Takes all output. The result then has the head and the tail. */
  readonly whole?: WholeOutput | undefined
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
  /** From descriptor 3 on. The report, on REPORT_FD, becomes part of the result. */
  readonly extra?: readonly (number | 'report' | undefined)[]
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

function stdioOf({ input, streams, wall }: RunParts): Stdio {
  const { stdin, stdout = 'kept', stderr = 'kept', extra = [] } = streams ?? {}
  const output = (to: RunStreams['stdout']) => typeof to === 'number' ? to : to === 'nothing' ? 'ignore' : 'pipe'
  const source = stdin ?? (input === undefined ? 'ignore' : 'pipe')
  const more = extra.map((file) => file === 'report' ? 'pipe' as const : file ?? 'ignore' as const)
  const all: Stdio = [source, output(stdout), output(stderr), ...more]
  return wall?.filter === undefined ? all : withPipe(all, FILTER_FD)
}

const withPipe = (stdio: Stdio, at: number): Stdio => Array.from(
  { length: Math.max(stdio.length, at + 1) }, (_, fd) => fd === at ? 'pipe' : stdio[fd] ?? 'ignore',
)

/** The descriptors of a command. */
export const descriptorsOf = ({ extra = [] }: Partial<RunStreams> = {}): readonly number[] =>
  [0, 1, 2, ...extra.flatMap((file, index) => file === undefined ? [] : [index + 3])]

/** Set for a command that reports. */
export const reportOf = ({ streams }: RunParts, { stdio }: ChildProcess): Readable | undefined =>
  streams?.extra?.includes('report') ? (stdio as readonly unknown[] | undefined)?.[REPORT_FD] as Readable : undefined

interface StartedChild {
  readonly child: ChildProcess
  /** Set if the launcher starts it. Rejects if it started nothing. */
  readonly started?: Promise<void>
}

/** The folder may be named by a descriptor of this process, which one of the files may replace in the new process. */
const folderOf = ({ cwd, streams }: RunParts): string =>
  (streams?.extra ?? []).length === 0 ? cwd : cwd.replace(/^\/proc\/self\//, `/proc/${process.pid}/`)

/** Contract: throws if the system cannot start it. */
export function startRun(given: RunParts): StartedChild {
  const parts = { ...given, cwd: folderOf(given) }
  const { argv, cwd, env, mark, masked, wall } = parts
  const [file = '', ...args] = argv
  try {
    if (wall?.launch !== undefined) {
      const limits = new Map([...wall.launch.limits ?? [], ['locks', mark] as const])
      const order: Launch = { argv: [file, ...args], env, wall: { ...wall.launch, limits } }
      return wall.network === undefined ? wall.spares.launch({ ...order, cwd }, stdioOf(parts))
        : { child: startInNetwork(parts, order, wall.network) }
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
  const stdio = withPipe(stdioOf(parts), FILTER_FD)
  const descriptors = descriptorsOf(parts.streams)
  const [file = '', ...args] = network([...descriptors, FILTER_FD], launcherCommand(FILTER_FD))
  // The programs in front of the wall get none of the variables.
  const child = startMasked(stdio, masked, (each) => spawn(file, args, { cwd, env: {}, stdio: each, detached: true }))
  const pipe = (child.stdio as readonly unknown[] | undefined)?.[FILTER_FD]
  if (pipe) sendWhole(pipe as Duplex, encodeOrder({ ...given, descriptors: descriptors.slice(3) }))
  return child
}
