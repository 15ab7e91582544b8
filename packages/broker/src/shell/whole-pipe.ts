import { constants } from 'node:os'
import type { PipeResult } from '@bulkhead/contract'
import type { RunStreams } from './run-start.ts'
import type { StageRequest, StageTarget } from './request.ts'
import type { StreamFiles } from './streams.ts'
import { FILTER_FD, REPORT_FD } from './wall-form.ts'

/** The stderr of the pipe. That of the shell gets its messages about signals, which are dropped. */
const STDERR_FD = 4
const FIRST_FILE_FD = FILTER_FD + 1

interface WholePipe {
  readonly command: readonly string[]
  readonly streams: RunStreams
}

/**
 * One shell that starts and connects all commands, so that one wall stands around them. Its text has only fixed strings
 * and numbers: the commands are its positional parameters, so that no shell parses them. They do not get the descriptor
 * to which it reports how each of them ended. It is bash, because other shells know the end of the last command only.
 * SIGTERM goes to the commands: the shell waits for their end. `-p`: it runs nothing that a variable names.
 */
export function wholePipe(
  bash: string, stages: readonly StageRequest[], programs: readonly string[], files: StreamFiles,
): WholePipe {
  const targets = stages.flatMap(({ stdout, stderr }) =>
    [stdout, stderr]).filter((target) => typeof target === 'object')
  const opened = [...new Set(targets.map((target) => files.output(target)))]
  const closed = [REPORT_FD, STDERR_FD, ...opened.map((_, index) => FIRST_FILE_FD + index)].map((fd) => `${fd}>&-`)
  const to = (target: Exclude<StageTarget, 'out'>): string => target === 'err' ? `&${STDERR_FD}`
    : target === 'nothing' ? '/dev/null' : `&${FIRST_FILE_FD + opened.indexOf(files.output(target))}`
  const words: string[] = []
  const commands = stages.map(({ args, stdout, stderr }, index) => {
    const first = words.push(programs[index]!, ...args) - args.length
    // stderr first: `out` is what stdout was before.
    const redirected = [`2>${stderr === 'out' ? '&1' : to(stderr)}`, ...(stdout === 'out' ? [] : [`1>${to(stdout)}`])]
    return [`"\${@:${first}:${args.length + 1}}"`, ...redirected, ...closed].join(' ')
  })
  // Its own exit counts only without a report, and is never a success.
  const script = `trap : TERM; exec ${STDERR_FD}>&2 2>/dev/null; ${commands.join(' | ')}; `
    + `echo "\${PIPESTATUS[@]}" >&${REPORT_FD}; exit 1`
  const input = stages[0]!.input
  const between = opened.length === 0 ? [] : Array.from({ length: FILTER_FD - REPORT_FD }, () => undefined)
  return {
    command: [bash, '-p', '-c', script, 'bash', ...words],
    streams: {
      stdin: typeof input === 'object' ? files.input(input.path) : undefined, stdout: 'kept', stderr: 'kept',
      extra: ['report', ...between, ...opened],
    },
  }
}

type Exit = PipeResult['exits'][number]

/** Sent by the kernel or the host. A program may exit with the number of another: git does, for wrong options. */
const DEADLY = [
  'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGKILL', 'SIGPIPE', 'SIGSEGV', 'SIGSYS', 'SIGTERM', 'SIGTRAP',
] as const

/** How each command ended. `whole`: how the shell ended, and with it the commands that it could not report. */
export function exitsOf(report: string, count: number, whole: Exit): readonly Exit[] {
  const codes = report.endsWith('\n') ? report.trim().split(' ').map(Number) : []
  return Array.from({ length: count }, (_, index) => {
    const code = codes[index]
    if (code === undefined) return whole
    const signal = DEADLY.find((name) => code === 128 + constants.signals[name])
    return signal === undefined ? { exitCode: code, signal: null } : { exitCode: null, signal }
  })
}
