import { BulkheadError } from '@bulkhead/contract'
import { succeeds } from './attempted-program.ts'
import type { Executable, Executables } from './executable.ts'
import { proveUnchanged } from './executable.ts'

/** The process dies with the host, and neither it nor what it starts gains rights by the file it executes. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs']

export type Argv = readonly string[]

/** What stands before a command so that the system holds it. It replaces itself by the command: one process, one pid. */
export class Launcher {
  readonly #executables: Executables
  #setpriv: Promise<Executable | undefined> | undefined

  /** `executables`: those of the system, whatever list the commands are searched in. */
  constructor(executables: Executables) {
    this.#executables = executables
  }

  /** Contract: rejects with ResourceBusy while it cannot be found out what there is. */
  async prepare(): Promise<(command: Argv) => Argv> {
    this.#setpriv ??= this.#find().catch((error: unknown) => {
      this.#setpriv = undefined
      throw error
    })
    const setpriv = await this.#setpriv
    if (setpriv === undefined) return (command) => command
    return (command) => {
      proveUnchanged(setpriv)
      return [setpriv.path, ...SETPRIV, '--', ...command]
    }
  }

  async #find(): Promise<Executable | undefined> {
    const setpriv = await this.#executables.find('setpriv').catch(unlessBusy)
    return setpriv !== undefined && await canSetpriv(setpriv) ? setpriv : undefined
  }
}

/** There is more than one program of this name, and not all know these options. */
const canSetpriv = ({ path }: Executable): Promise<boolean> => succeeds([path, ...SETPRIV, '--', path, '--version'])

/** Only what was found out is held on to: without room nothing is. */
function unlessBusy(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'ResourceBusy') throw error
}
