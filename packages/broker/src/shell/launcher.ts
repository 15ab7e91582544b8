import { readFile } from 'node:fs/promises'
import { BulkheadError } from '@bulkhead/contract'
import { isUnmarked, markOption, newProcessMark } from '@bulkhead/kit/process-mark'
import { succeeds } from './attempted-program.ts'
import type { Executable, Executables } from '../process/executable.ts'
import { proveUnchanged } from '../process/executable.ts'

/** The process dies with the host, and neither it nor what it starts gains rights by the file it executes. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs']

export type Argv = readonly string[]
export type Launch = (command: Argv, mark: number) => Argv

interface Found {
  readonly setpriv: Executable | undefined
  /** Where it can give a process the number of its run. */
  readonly prlimit: Executable | undefined
}

/** What stands before a command so that the system holds it. Each part replaces itself by the next: one process, one pid. */
export class Launcher {
  readonly #executables: Executables
  #found: Promise<Found> | undefined

  /** `executables`: those of the system, whatever list the commands are searched in. */
  constructor(executables: Executables) {
    this.#executables = executables
  }

  /** Contract: rejects with ResourceBusy while it cannot be found out what there is. */
  async prepare(): Promise<Launch> {
    this.#found ??= this.#find().catch((error: unknown) => {
      this.#found = undefined
      throw error
    })
    const { setpriv, prlimit } = await this.#found
    return (command, mark) => [...through(setpriv, SETPRIV), ...through(prlimit, [markOption(mark)]), ...command]
  }

  async #find(): Promise<Found> {
    const find = (name: string): Promise<Executable | undefined> => this.#executables.find(name).catch(unlessBusy)
    const [setpriv, prlimit] = await Promise.all([find('setpriv'), find('prlimit')])
    const [setsRights, marks] = await Promise.all([setpriv && canSetpriv(setpriv), prlimit && canMark(prlimit)])
    return { setpriv: setsRights ? setpriv : undefined, prlimit: marks ? prlimit : undefined }
  }
}

function through(program: Executable | undefined, options: Argv): Argv {
  if (program === undefined) return []
  proveUnchanged(program)
  return [program.path, ...options, '--']
}

/** There is more than one program of this name, and not all know these options. */
const canSetpriv = ({ path }: Executable): Promise<boolean> => succeeds([path, ...SETPRIV, '--', path, '--version'])

/** Below a host that was itself given a number, that one stays. */
async function canMark({ path }: Executable): Promise<boolean> {
  return isUnmarked(await readFile('/proc/self/limits', 'latin1').catch(() => '')) && succeeds([path, markOption(newProcessMark()), '--', path, '--version'])
}

/** Only what was found out is held on to: without room nothing is. */
function unlessBusy(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'ResourceBusy') throw error
}
