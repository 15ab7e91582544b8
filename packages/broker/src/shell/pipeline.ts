import type { BulkheadError, PipeResult } from '@bulkhead/contract'
import type { Run } from './run.ts'
import type { RunStreams } from './run-start.ts'
import type { PipeRequest, StageRequest, StageTarget } from './request.ts'
import type { StreamFiles } from './streams.ts'
import { exitsOf } from './whole-pipe.ts'

type StartRun = (index: number) => Run

/** The runs of a pipe, from their start until no process of them is left. */
export class Pipeline {
  /** Settles once. */
  readonly result: Promise<PipeResult>
  /** Never rejects. */
  readonly gone: Promise<void>
  /** Resolves once all are in their working folder, or were not started. Never rejects. */
  readonly inFolder: Promise<void>
  readonly #runs: readonly Run[]
  readonly #commands: number
  #timer: NodeJS.Timeout | undefined
  #timedOut = false

  /** A run per command, or one that reports on all. Contract: if one cannot be started, ends the others and throws. */
  constructor(runs: number, start: StartRun, { stages, timeoutMs }: Pick<PipeRequest, 'stages' | 'timeoutMs'>) {
    this.#commands = stages.length
    this.#runs = startAll(runs, start)
    this.gone = Promise.all(this.#runs.map(({ gone }) => gone)).then(() => undefined)
    this.inFolder = Promise.all(this.#runs.map(({ inFolder }) => inFolder)).then(() => undefined)
    this.result = this.#finish()
    this.result.catch(() => undefined)
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => {
        this.#timedOut = true
        for (const run of this.#runs) run.interrupt()
      }, timeoutMs)
    }
  }

  /** Idempotent. */
  end(reason: BulkheadError): void {
    for (const run of this.#runs) run.end(reason)
  }

  async #finish(): Promise<PipeResult> {
    try {
      const results = await Promise.all(this.#runs.map(({ result }) => result))
      return {
        exits: results.flatMap(({ exitCode, signal, report }) => report === undefined ? [{ exitCode, signal }]
          : exitsOf(report, this.#commands, { exitCode, signal })),
        stdout: results.at(-1)!.stdout,
        stderr: results.map(({ stderr }) => stderr).join(''),
        truncated: results.some(({ truncated }) => truncated),
        timedOut: this.#timedOut,
      }
    } finally {
      clearTimeout(this.#timer)
    }
  }
}

function startAll(count: number, start: StartRun): readonly Run[] {
  const runs: Run[] = []
  try {
    for (let index = 0; index < count; index++) runs.push(start(index))
    return runs
  } catch (error) {
    for (const run of runs) run.end(error as BulkheadError)
    throw error
  }
}

/** Descriptors of the files that redirected outputs go to. */
const FILE_FD = { stdout: 3, stderr: 4 } as const

type OutputTargets = { readonly stdout: StageTarget; readonly stderr: StageTarget }

/** Whether spawn() alone can connect the outputs. */
export const isPlainOutput = ({ stdout, stderr }: OutputTargets): boolean => stdout !== 'err' && stderr !== 'out'

/**
 * A shell that redirects one output to the other and then execs the command. The script contains only fixed strings;
 * the command is passed as arguments, so that no shell parses it.
 */
export function throughShell(shell: string, targets: OutputTargets, argv: readonly string[]): readonly string[] {
  const to = (target: StageTarget, file: number): string =>
    target === 'out' ? '&5' : target === 'err' ? '&6' : target === 'nothing' ? '/dev/null' : `&${file}`
  const [stdout, stderr] = [to(targets.stdout, FILE_FD.stdout), to(targets.stderr, FILE_FD.stderr)]
  return [shell, '-c', `exec "$@" 5>&1 6>&2 1>${stdout} 2>${stderr} 3>&- 4>&- 5>&- 6>&-`, 'sh', ...argv]
}

/** The pipes to the previous and the next command. */
interface PipeEnds {
  readonly read: number | undefined
  readonly write: number | undefined
}

/** The streams of a command. */
export function streamsOf(stage: StageRequest, files: StreamFiles, ends: PipeEnds): RunStreams {
  const { input, stdout, stderr } = stage
  const stdin = typeof input === 'object' ? files.input(input.path) : ends.read
  const onward = ends.write ?? 'kept'
  const file = (target: StageTarget): number | undefined =>
    typeof target === 'object' ? files.output(target) : undefined
  if (!isPlainOutput(stage)) return { stdin, stdout: onward, stderr: 'kept', extra: [file(stdout), file(stderr)] }
  return {
    stdin,
    stdout: stdout === 'nothing' ? 'nothing' : file(stdout) ?? onward,
    stderr: stderr === 'nothing' ? 'nothing' : file(stderr) ?? 'kept',
  }
}
