import type { StageRequest, StageTarget } from './pipe-request.ts'
import type { RunStreams } from '../run.ts'
import type { StreamFiles } from './stream-files.ts'

/** Descriptors in the started program beyond the usual three: the files that crossed outputs go to. */
const FILE_FD = { stdout: 3, stderr: 4 } as const

type Wiring = { readonly stdout: StageTarget; readonly stderr: StageTarget }

/** Whether each output goes where a process can be started with it. */
export const isPlainWiring = ({ stdout, stderr }: Wiring): boolean => stdout !== 'err' && stderr !== 'out'

/**
 * A program that only crosses the outputs and then becomes the command. Its text is made of these few forms, and the
 * command's own words are never part of it: a shell reads it, and no shell reads them.
 */
export function crossed(shell: string, wiring: Wiring, argv: readonly string[]): readonly string[] {
  const to = (target: StageTarget, file: number): string =>
    target === 'out' ? '&5' : target === 'err' ? '&6' : target === 'nothing' ? '/dev/null' : `&${file}`
  const [stdout, stderr] = [to(wiring.stdout, FILE_FD.stdout), to(wiring.stderr, FILE_FD.stderr)]
  return [shell, '-c', `exec "$@" 5>&1 6>&2 1>${stdout} 2>${stderr} 3>&- 4>&- 5>&- 6>&-`, 'sh', ...argv]
}

/** Of the pipes to the commands before and after one. */
interface PipeEnds {
  readonly read: number | undefined
  readonly write: number | undefined
}

/** What a command is started with. */
export function streamsOf(stage: StageRequest, files: StreamFiles, ends: PipeEnds): RunStreams {
  const { input, stdout, stderr } = stage
  const stdin = typeof input === 'object' ? files.input(input.path) : ends.read
  const onward = ends.write ?? 'kept'
  const file = (target: StageTarget): number | undefined => typeof target === 'object' ? files.output(target) : undefined
  if (!isPlainWiring(stage)) return { stdin, stdout: onward, stderr: 'kept', extra: [file(stdout), file(stderr)] }
  return {
    stdin,
    stdout: stdout === 'nothing' ? 'nothing' : file(stdout) ?? onward,
    stderr: stderr === 'nothing' ? 'nothing' : file(stderr) ?? 'kept',
  }
}
