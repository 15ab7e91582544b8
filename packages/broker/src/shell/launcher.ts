import { readFile } from 'node:fs/promises'
import { execFile, type ExecFileException } from 'node:child_process'
import { BulkheadError } from '@bulkhead/contract'
import { isUnmarked, markOption, newProcessMark } from '@bulkhead/kit/process-mark'
import { requireUnchanged, type Executable, type Executables } from '../process/executable.ts'
import { isResourceShortage, mentionsResourceShortage, startError } from '../process/resources.ts'

/** The command dies with the host, and cannot gain privileges by set-uid files. */
const SETPRIV = ['--pdeathsig', 'KILL', '--no-new-privs']

export type Argv = readonly string[]
export type Launch = (command: Argv, mark: number) => Argv

interface Prefixes {
  readonly setpriv: Executable | undefined
  /** Sets the process mark. */
  readonly prlimit: Executable | undefined
}

/** Puts setpriv and prlimit before a command, where they work. Each replaces itself by exec, so the pid stays the same. */
export class Launcher {
  readonly #executables: Executables
  #found: Promise<Prefixes> | undefined

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

  async #find(): Promise<Prefixes> {
    const find = (name: string): Promise<Executable | undefined> => this.#executables.find(name).catch(unlessBusy)
    const [setpriv, prlimit] = await Promise.all([find('setpriv'), find('prlimit')])
    const [setsRights, marks] = await Promise.all([setpriv && canSetpriv(setpriv), prlimit && canMark(prlimit)])
    return { setpriv: setsRights ? setpriv : undefined, prlimit: marks ? prlimit : undefined }
  }
}

function through(program: Executable | undefined, options: Argv): Argv {
  if (program === undefined) return []
  requireUnchanged(program)
  return [program.path, ...options, '--']
}

/** Not every implementation of setpriv knows these options. */
const canSetpriv = ({ path }: Executable): Promise<boolean> => succeeds([path, ...SETPRIV, '--', path, '--version'])

/** If the host itself has a mark, its children cannot get another. */
async function canMark({ path }: Executable): Promise<boolean> {
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '')
  return isUnmarked(limits) && succeeds([path, markOption(newProcessMark()), '--', path, '--version'])
}

/** A shortage of resources must not be cached as "not installed". */
function unlessBusy(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'ResourceBusy') throw error
}

const TRIAL_MS = 10_000

/**
 * Tries a program. Rejects with ResourceBusy during a shortage of resources or a timeout: then the answer is unknown, and
 * must not count as a no.
 */
export function succeeds([file = '', ...args]: Argv): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const answer = (error: ExecFileException | null, _stdout: string, stderr: string): void => {
      const isUnknown = error !== null && (isResourceShortage(error) || mentionsResourceShortage(stderr) || wasEnded(error))
      if (isUnknown) reject(startError(isResourceShortage(error) ? error : { code: 'EAGAIN' }))
      else resolve(error === null)
    }
    try {
      execFile(file, args, { cwd: '/', env: {}, timeout: TRIAL_MS, killSignal: 'SIGKILL' }, answer)
    } catch (error) {
      reject(startError(error))
    }
  })
}

/** Killed by the timeout or for lack of memory. Other signals mean that the program does not work here. */
const wasEnded = ({ signal }: { readonly signal?: unknown }): boolean => signal === 'SIGKILL' || signal === 'SIGABRT'
