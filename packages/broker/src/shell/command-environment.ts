import type { CompartmentTool } from '@bulkhead/contract'
import { ANY_COMMAND } from '@bulkhead/contract'
import { cleanEnvironment } from './environment.ts'
import { Executables } from '../process/executable.ts'
import type { OffLimits } from '../process/untrusted-folders.ts'

/** What a tool's commands are found in, what they find themselves, and how much of their output is kept. */
export interface Surroundings {
  readonly executables: Executables
  readonly outputBytes: number
  environment(marker: string): NodeJS.ProcessEnv
  /** PATH without folders that tools write to: for a command that nobody was asked about and that finds another by its name. */
  cleanPath(): Promise<string>
}

/** Of whoever runs the host: for a tool that may run every command, in the name of that person. */
export interface OperatorEnvironment {
  /** Absolute folders where commands are looked for, and what they find in PATH. */
  readonly path: readonly string[]
  /** Everything else that they find in their environment. */
  readonly env: Readonly<Record<string, string>>
  /** Kept of each of the two streams, in bytes. */
  readonly outputBytes?: number
}

export const cleanSurroundings = (path: readonly string[], outputBytes: number, offLimits: OffLimits): Surroundings => ({
  executables: new Executables(path, offLimits), outputBytes, environment: (marker) => cleanEnvironment(path, marker),
  cleanPath: once(() => outsideOf(offLimits, path)),
})

export const operatorEnvironment = (
  { path, env, outputBytes = 1024 * 1024 }: OperatorEnvironment, offLimits: OffLimits,
): Surroundings => ({
  executables: new Executables(path, offLimits),
  outputBytes,
  environment: (marker) => ({ ...cleanEnvironment(path, marker), ...env, PATH: path.join(':') }),
  cleanPath: once(() => outsideOf(offLimits, path)),
})

async function outsideOf(offLimits: OffLimits, path: readonly string[]): Promise<string> {
  const reached = await Promise.all(path.map((folder) => offLimits.reaches(folder).catch(() => true)))
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
