import { execFile, type ExecFileException } from 'node:child_process'
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
