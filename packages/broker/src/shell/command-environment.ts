import { ANY_COMMAND, type CompartmentTool } from '@bulkhead/contract'
import { Executables, type UntrustedFolders } from '../process/executable.ts'
import { RUN_VARIABLE } from '../process/run-processes.ts'

/** Where the commands of a tool are searched, their variables, and how much output is kept. */
export interface CommandEnvironment {
  readonly executables: Executables
  readonly outputBytes: number
  variables(marker: string): NodeJS.ProcessEnv
  /** PATH without folders that tools can write: for commands that run without approval and start others by name. */
  cleanPath(): Promise<string>
}

/** The environment of the operator, for a tool that may run every command. */
export interface OperatorEnvironment {
  /** Absolute folders where commands are searched. Also their PATH. */
  readonly path: readonly string[]
  /** All other variables. */
  readonly env: Readonly<Record<string, string>>
  /** Kept of each of stdout and stderr. */
  readonly outputBytes?: number
}

export const restrictedEnvironment = (path: readonly string[], outputBytes: number, untrusted: UntrustedFolders): CommandEnvironment => ({
  executables: new Executables(path, untrusted), outputBytes, variables: (marker) => cleanVariables(path, marker),
  cleanPath: once(() => outsideOf(untrusted, path)),
})

export const operatorEnvironment = (
  { path, env, outputBytes = 1024 * 1024 }: OperatorEnvironment, untrusted: UntrustedFolders,
): CommandEnvironment => ({
  executables: new Executables(path, untrusted),
  outputBytes,
  variables: (marker) => ({ ...cleanVariables(path, marker), ...env, PATH: path.join(':') }),
  cleanPath: once(() => outsideOf(untrusted, path)),
})

async function outsideOf(untrusted: UntrustedFolders, path: readonly string[]): Promise<string> {
  const reached = await Promise.all(path.map((folder) => untrusted.reaches(folder).catch(() => true)))
  return path.filter((_, index) => !reached[index]).join(':')
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}

export const runsAnyCommand = ({ grant }: Pick<CompartmentTool, 'grant'>): boolean =>
  grant.shell.some(({ cmd }) => cmd === ANY_COMMAND)

/**
 * All variables of a command; none of the host. HOME is a path where nothing can exist: with HOME in the workspace, an
 * untrusted `.gitconfig` or `.npmrc` there would count as the user's.
 */
export function cleanVariables(path: readonly string[], marker: string): NodeJS.ProcessEnv {
  return {
    PATH: path.join(':'),
    HOME: '/dev/null',
    LANG: 'C.UTF-8',
    [RUN_VARIABLE]: marker,
    // Node passes its own value on unless the key exists. undefined removes it.
    NODE_V8_COVERAGE: undefined,
  }
}
