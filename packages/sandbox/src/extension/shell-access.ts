import type { PipeOptions, PipeResult, Shell, ShellResult, ShellStage } from '@bulkhead/contract'
import type { AskForCall } from './ask.ts'

/** The command part of a runtime: a name and an argument vector, as they are. */
export function shellAccess(ask: AskForCall): Shell {
  return Object.freeze({
    run: (cmd, args, options) =>
      ask('shell.run', cmd, args ?? [], { cwd: options?.cwd, input: options?.input }) as Promise<unknown> as Promise<ShellResult>,
    pipe: (stages, options) =>
      ask('shell.pipe', stages.map(stageRequest), optionsRequest(options)) as Promise<unknown> as Promise<PipeResult>,
  } satisfies Shell)
}

const stageRequest = ({ cmd, args = [], input, stdout, stderr, as }: ShellStage): object => ({ cmd, args, input, stdout, stderr, as })
const optionsRequest = ({ cwd, timeoutMs, wall, quiet }: PipeOptions = {}): object => ({ cwd, timeoutMs, wall, quiet })
