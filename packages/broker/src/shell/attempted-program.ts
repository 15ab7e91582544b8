import type { ExecFileException } from 'node:child_process'
import { execFile } from 'node:child_process'
import { isResourceShortage, mentionsResourceShortage } from '../process/resources.ts'
import type { Argv } from './launcher.ts'
import { startFault } from '../process/start-error.ts'

const PATIENCE_MS = 10_000

/**
 * Whether a program does what it is called for, found out by calling it. Rejects with ResourceBusy when the system has no room
 * for it, or no time: then it is not known, and must not be taken for a no.
 */
export function succeeds([file = '', ...args]: Argv): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const answer = (error: ExecFileException | null, _stdout: string, stderr: string): void => {
      const isUnknown = error !== null && (isResourceShortage(error) || mentionsResourceShortage(stderr) || wasEnded(error))
      if (isUnknown) reject(startFault(isResourceShortage(error) ? error : { code: 'EAGAIN' }))
      else resolve(error === null)
    }
    try {
      execFile(file, args, { cwd: '/', env: {}, timeout: PATIENCE_MS, killSignal: 'SIGKILL' }, answer)
    } catch (error) {
      reject(startFault(error))
    }
  })
}

/** When it was late or memory was short. Other signals tell that it cannot do here what it is for. */
const wasEnded = ({ signal }: { readonly signal?: unknown }): boolean => signal === 'SIGKILL' || signal === 'SIGABRT'
