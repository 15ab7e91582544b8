import type { Shell, ShellResult } from '@bulkhead/contract'
import type { AskForCall } from './runtime.ts'

/** The command part of a runtime: a name and an argument vector, as they are. */
export function shellAccess(ask: AskForCall): Shell {
  return Object.freeze({
    run: (cmd, args, options) =>
      ask('shell.run', cmd, args ?? [], { cwd: options?.cwd, input: options?.input }) as Promise<unknown> as Promise<ShellResult>,
  } satisfies Shell)
}
