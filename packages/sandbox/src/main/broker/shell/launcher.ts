import { readFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { succeeds } from './attempted-program.ts'
import type { Executable, Executables } from './executable.ts'
import { proveUnchanged } from './executable.ts'

/** Bounds the system keeps for each process of a run. None of them bounds the run as a whole. */
export interface Rlimits {
  /** Processor time. */
  readonly cpuSeconds?: number
  /** Address space; programs that reserve much more than they use, as Node does, need it large. */
  readonly addressBytes?: number
  /** One file it writes. */
  readonly fileBytes?: number
  /** Open descriptors. */
  readonly openFiles?: number
  /** Memory image left by a crash. */
  readonly coreBytes?: number
  /** Processes of the user the host runs as, all of them counted; root is not bound by it. */
  readonly processes?: number
}

/** The option of `prlimit`, and the line of the same limit in /proc. */
const RESOURCES: Readonly<Record<keyof Rlimits, readonly [option: string, line: string]>> = {
  cpuSeconds: ['cpu', 'Max cpu time'],
  addressBytes: ['as', 'Max address space'],
  fileBytes: ['fsize', 'Max file size'],
  openFiles: ['nofile', 'Max open files'],
  coreBytes: ['core', 'Max core file size'],
  processes: ['nproc', 'Max processes'],
}

/** The process dies with the host, and neither it nor what it starts gains rights by the file it executes. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs']

export type Argv = readonly string[]

export interface LauncherOptions {
  /** Those of the system, whatever list the commands are searched in. */
  readonly executables: Executables
  readonly rlimits?: Rlimits | undefined
  /** Contract: must not throw; what it returns starts with an absolute path. */
  readonly wrap?: ((argv: Argv) => Argv) | undefined
}

interface Prefix {
  readonly executable: Executable
  readonly options: Argv
}

/** What stands before a command so that the system holds it. Each part replaces itself by the next: one process, one pid. */
export class Launcher {
  readonly #options: LauncherOptions
  #prefixes: Promise<readonly Prefix[]> | undefined

  constructor(options: LauncherOptions) {
    this.#options = options
  }

  /** Contract: rejects with CapabilityUnavailable when limits were asked for that cannot be set, with ResourceBusy for now. */
  async prepare(): Promise<(command: Argv) => Argv> {
    this.#prefixes ??= this.#find().catch((error: unknown) => {
      this.#prefixes = undefined
      throw error
    })
    const prefixes = await this.#prefixes
    return (command) => {
      const wrapped = this.#options.wrap?.(command) ?? command
      if (!isAbsolute(wrapped[0] ?? '')) {
        throw new BulkheadError('InternalError', 'The wrapper of commands did not name its program by an absolute path.')
      }
      return [...prefixes.flatMap(({ executable, options }) => {
        proveUnchanged(executable)
        return [executable.path, ...options, '--']
      }), ...wrapped]
    }
  }

  async #find(): Promise<readonly Prefix[]> {
    const { executables, rlimits } = this.#options
    const find = (name: string): Promise<Executable | undefined> => executables.find(name).catch(unlessBusy)
    const [setpriv, prlimit] = await Promise.all([find('setpriv'), find('prlimit')])
    const limits = await limitOptions(rlimits ?? {})
    if (limits.length > 0 && prlimit === undefined) {
      throw new BulkheadError(
        'CapabilityUnavailable',
        'Commands shall run under limits, but prlimit is not installed. Install util-linux, or do without the limits.',
      )
    }
    return [
      ...(setpriv !== undefined && await canSetpriv(setpriv) ? [{ executable: setpriv, options: SETPRIV }] : []),
      ...(limits.length > 0 && prlimit !== undefined ? [{ executable: prlimit, options: limits }] : []),
    ]
  }
}

/** There is more than one program of this name, and not all know these options. */
const canSetpriv = ({ path }: Executable): Promise<boolean> => succeeds([path, ...SETPRIV, '--', path, '--version'])

/** Only what was found out is held on to: without room nothing is. */
function unlessBusy(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'ResourceBusy') throw error
}

/** A limit that is already lower stays as it is: only root could raise it, and nobody asked for that. */
async function limitOptions(rlimits: Rlimits): Promise<Argv> {
  const present = await readFile('/proc/self/limits', 'latin1').catch(() => '')
  return (Object.keys(RESOURCES) as (keyof Rlimits)[]).flatMap((resource) => {
    const wanted = rlimits[resource]
    if (wanted === undefined) return []
    const [option, line] = RESOURCES[resource]
    const hard = Number(new RegExp(`^${line}\\s+\\S+\\s+(\\d+)`, 'm').exec(present)?.[1] ?? Infinity)
    return [`--${option}=${Math.min(wanted, hard)}`]
  })
}
