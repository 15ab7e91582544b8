import { isAbsolute, resolve } from 'node:path'
import { ANY_COMMAND, BulkheadError, isCertificateVariable, type CompartmentTool, type KeyGrant } from '@bulkhead/contract'
import { markOption, succeeds, workingLaunchers, type Launchers } from '@bulkhead/kit/processes'
import { Executables, requireUnchanged, type Executable, type UntrustedFolders } from '../process/executable.ts'
import { RUN_VARIABLE } from '../process/run-processes.ts'
import { startError } from '../process/spawn.ts'
import { isWholeHome, ProgramFolders } from './program-folders.ts'

/** Where the commands of a tool are searched, their variables, and how much output is kept. */
export interface CommandEnvironment {
  readonly executables: Executables
  readonly outputBytes: number
  variables(marker: string, isApproved: boolean): NodeJS.ProcessEnv
  /** PATH without folders that tools can write: for commands that run without approval and start others by name. */
  cleanPath(): Promise<string>
  /** The files and folders outside the system that commands in a sandbox see, besides the workspace. */
  visible(): Promise<readonly string[]>
}

/** The environment of the operator, for a tool that may run every command. */
export interface OperatorEnvironment {
  /** Absolute folders where commands are searched. Also their PATH. */
  readonly path: readonly string[]
  /** All other variables. */
  readonly env: Readonly<Record<string, string>>
  /** Variables with a password, for calls that were approved. */
  readonly guarded?: Readonly<Record<string, string>>
  /** Files and folders that commands in a sandbox see, besides those of programs. Absolute. */
  readonly read?: readonly string[]
  /** Keys that commands of bundled tools use and do not get, if the host chose them for the call. */
  readonly keys?: readonly KeyGrant[]
  /** Kept of each of stdout and stderr. */
  readonly outputBytes?: number
}

/** `home`: the home folder of the operator. */
export function commandEnvironment(
  { path, env, guarded = {}, read = [], outputBytes = 1024 * 1024 }: OperatorEnvironment, home: string | undefined,
  untrusted: UntrustedFolders,
): CommandEnvironment {
  const programs = new ProgramFolders(path, home, untrusted)
  const certificates = certificatePaths({ ...env, ...guarded }).filter((file) => !isWholeHome(file, home))
  return {
    executables: new Executables(path, untrusted),
    outputBytes,
    variables: (marker, isApproved) =>
      ({ ...cleanVariables(path, marker), ...env, ...(isApproved ? guarded : {}), PATH: path.join(':') }),
    cleanPath: once(() => trustedPath(untrusted, path)),
    visible: async () => [...await programs.list(), ...certificates, ...read],
  }
}

/** The files and folders with certificates that variables name. */
const certificatePaths = (env: OperatorEnvironment['env']): readonly string[] => Object.entries(env)
  .flatMap(([name, value]) => isCertificateVariable(name) ? value.split(':') : [])
  .filter((path) => isAbsolute(path)).map((path) => resolve(path))

async function trustedPath(untrusted: UntrustedFolders, path: readonly string[]): Promise<string> {
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
function cleanVariables(path: readonly string[], marker: string): NodeJS.ProcessEnv {
  return {
    PATH: path.join(':'),
    HOME: '/dev/null',
    LANG: 'C.UTF-8',
    [RUN_VARIABLE]: marker,
    // Node passes its own value on unless the key exists. undefined removes it.
    NODE_V8_COVERAGE: undefined,
  }
}

/** The command dies with the host, and cannot gain privileges by set-uid files. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs']

export type Argv = readonly string[]
export type Launch = (command: Argv, mark: number) => Argv

/**
 * Puts setpriv and prlimit before a command, where they work. Each replaces itself by exec, so the pid stays the same.
 */
export class Launcher {
  readonly #executables: Executables
  #found: Promise<Launchers<Executable>> | undefined

  /** `executables`: the programs of the system, whatever PATH the commands have. */
  constructor(executables: Executables) {
    this.#executables = executables
  }

  /** Contract: rejects with ResourceBusy during a shortage of resources. */
  async prepare(): Promise<Launch> {
    this.#found ??= this.#find().catch((error: unknown) => {
      this.#found = undefined
      throw error
    })
    const { setpriv, prlimit } = await this.#found
    return (command, mark) => [...through(setpriv, SETPRIV), ...through(prlimit, [markOption(mark)]), ...command]
  }

  async #find(): Promise<Launchers<Executable>> {
    const find = (name: string): Promise<Executable | undefined> => this.#executables.find(name).catch(unlessBusy)
    const [setpriv, prlimit] = await Promise.all([find('setpriv'), find('prlimit')])
    return workingLaunchers({ setpriv, prlimit }, SETPRIV).catch(rethrowAsStart)
  }
}

function through(program: Executable | undefined, options: Argv): Argv {
  if (program === undefined) return []
  requireUnchanged(program)
  return [program.path, ...options, '--']
}

/** A shortage of resources must not be cached as "not installed". */
export function unlessBusy(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'ResourceBusy') throw error
}

/**
 * Whether a program works here. Rejects with ResourceBusy during a shortage of resources: then the answer is unknown,
 * and must not count as a no.
 */
export const isWorking = (argv: Argv): Promise<boolean> =>
  succeeds(argv).catch(rethrowAsStart)

function rethrowAsStart(error: unknown): never {
  throw startError(error)
}
