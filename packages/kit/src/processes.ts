import { execFile, type ExecFileException } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { errorCode } from './error-message.ts'

const SHORTAGE_CODES: ReadonlySet<string | undefined> =
  new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ERR_WORKER_INIT_FAILED'])
/** The same conditions as programs print them, Node included. */
const SHORTAGE_MESSAGES = new RegExp([
  'resource temporarily unavailable', 'too many open files', 'cannot allocate memory', 'uv_thread_create',
  String.raw`\bE(?:AGAIN|MFILE|NFILE|NOMEM)\b`,
].join('|'), 'i')

/** Whether the system currently lacks processes, threads, descriptors or memory. */
export const isResourceShortage = (error: unknown): boolean => SHORTAGE_CODES.has(errorCode(error))

export const mentionsResourceShortage = (output: string): boolean => SHORTAGE_MESSAGES.test(output)

const TRIAL_MS = 10_000

/**
 * Runs a program and reports whether it ends with exit code 0. Rejects with the code of a resource shortage during a
 * shortage or after a timeout: then the answer is unknown, and must not be cached as a no.
 */
export function succeeds([file = '', ...args]: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (error: ExecFileException | null, _stdout: string, stderr: string): void => {
      if (isResourceShortage(error)) reject(error)
      else if (error !== null && (mentionsResourceShortage(stderr) || wasKilled(error))) reject(shortage(error))
      else resolve(error === null)
    }
    // execFile() throws some errors and passes others to its callback. The promise rejects with both.
    execFile(file, args, { cwd: '/', env: {}, timeout: TRIAL_MS, killSignal: 'SIGKILL' }, settle)
  })
}

/** By the timeout or for lack of memory. Other signals mean that the program does not work here. */
const wasKilled = ({ signal }: { readonly signal?: unknown }): boolean => signal === 'SIGKILL' || signal === 'SIGABRT'

const shortage = (cause: unknown): Error =>
  Object.assign(new Error('The system lacks resources to run the program.', { cause }), { code: 'EAGAIN' })

/**
 * A resource limit of Linux. Children inherit it, `prlimit` can set it, and the kernel has not enforced it since 2.4.
 * A random value therefore marks a process and everything it starts, at no cost.
 */
export const MARK_LIMIT = 'Max file locks'
/** No administrator sets a value this high, and below 2^53 it is printed without rounding. */
const LEAST_MARK = 2 ** 40

export const newProcessMark = (): number => LEAST_MARK + randomInt(LEAST_MARK)

/** The option of `prlimit` that sets a mark. */
export const markOption = (mark: number): string => `--locks=${mark}`

/** `limits` is the content of /proc/PID/limits. */
export const hasProcessMark = (limits: string, mark: number): boolean =>
  limits.split('\n').some((line) => line.startsWith(MARK_LIMIT) && line.includes(` ${mark} `))

/** A process that has a mark cannot be given another one. */
export const isUnmarked = (limits: string): boolean => /^Max file locks +unlimited +unlimited /m.test(limits)

/** Programs that start another program in their place, and so keep the pid. */
export interface Launchers<Program> {
  /** Runs a program with the given options of `setpriv`. */
  readonly setpriv: Program | undefined
  /** Runs a program with a mark. */
  readonly prlimit: Program | undefined
}

/**
 * The launchers that work here. Other programs of these names do not know the options, and a process that has a mark
 * cannot mark its children. Rejects as `succeeds` does.
 */
export async function workingLaunchers<Program extends { readonly path: string }>(
  { setpriv, prlimit }: Launchers<Program>, setprivOptions: readonly string[],
): Promise<Launchers<Program>> {
  const [sets, marks] = await Promise.all([
    setpriv !== undefined && runsItself(setpriv.path, setprivOptions),
    prlimit !== undefined && canMark(prlimit.path),
  ])
  return { setpriv: sets ? setpriv : undefined, prlimit: marks ? prlimit : undefined }
}

async function canMark(prlimit: string): Promise<boolean> {
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '')
  return isUnmarked(limits) && runsItself(prlimit, [markOption(newProcessMark())])
}

const runsItself = (path: string, options: readonly string[]): Promise<boolean> =>
  succeeds([path, ...options, '--', path, '--version'])

/** Identifies a running process to others on this machine: `pid-start`. The start is empty without /proc. */
export const processIdentity = (pid = process.pid): string => `${pid}-${startOf(pid) ?? ''}`

/** Whether the process of an identity has ended. Text after a second hyphen is ignored. */
export function hasProcessEnded(identity: string): boolean {
  const [pid, start] = identity.split('-')
  if (!/^[1-9]\d*$/.test(pid ?? '')) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    return errorCode(error) === 'ESRCH'
  }
  // The process id may have been reused.
  const now = startOf(Number(pid))
  return start !== '' && now !== undefined && now !== start
}

/** Start time in clock ticks since boot. undefined without /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
