import { spawn, type ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { LeftoverProcesses } from '../process/run-processes.ts'
import { sendWhole, startError, startMasked, type Stdio } from '../process/spawn.ts'
import type { Redaction } from '../secrets/redaction.ts'
import { encodeOrder, launcherCommand, type Launch, type LaunchWall, type SpareLauncher } from '../walls/launcher.ts'
import type { LiveOutput } from './output.ts'
import { FILTER_FD } from './wall-form.ts'

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
  /** Set if the launcher starts it. Rejects if it started nothing. */
  readonly started?: Promise<void>
}

/** Contract: throws if the system cannot start it. */
export function startRun(parts: RunParts): StartedChild {
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
