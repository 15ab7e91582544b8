import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { mentionsResourceShortage } from '../../process/resources.ts'
import type { Executable } from '../../process/executable.ts'
import { Executables, proveUnchanged } from '../../process/executable.ts'
import { OffLimits } from '../../process/untrusted-folders.ts'
import { startFault } from '../../process/start-error.ts'
import { Complaints } from './complaints.ts'

/** Nothing outside the searched folder decides, but the ignore files above it; nothing is followed, and nothing is asked. */
const ALWAYS = [
  '--no-config', '--no-ignore-messages', '--color=never', '--hidden', '--no-follow', '--no-require-git', '--no-ignore-global',
  '--glob=!.git', '--glob=!.hg', '--glob=!.svn', '--glob=!.jj',
]

let found: Promise<Executable> | undefined

/**
 * Which file ripgrep is, held to being the same from the first time on: it may lie where tools can write. Contract: rejects with
 * ResourceBusy while that cannot be found out.
 */
export function findRipgrep(): Promise<Executable> {
  found ??= locate().catch((error: BulkheadError) => {
    if (error.code === 'ResourceBusy') found = undefined
    throw error
  })
  return found
}

async function locate(): Promise<Executable> {
  try {
    // Throws when it has no binary for this platform.
    const { rgPath } = await import('@vscode/ripgrep')
    return await new Executables([dirname(rgPath)], new OffLimits([])).find(basename(rgPath))
  } catch (cause) {
    if (mentionsResourceShortage(messageOf(cause))) {
      throw new BulkheadError('ResourceBusy', 'The system has no room to look for ripgrep. Try again later.', { cause })
    }
    const why = 'ripgrep is not installed for this platform, so files cannot be searched. Install optional dependencies too.'
    throw new BulkheadError('CapabilityUnavailable', why, { cause })
  }
}

export interface RipgrepRun {
  readonly args: readonly string[]
  /** The folder to start in. It is entered before the promise is first waited for to settle. */
  readonly cwd: string
  /** A descriptor to search instead of the folder. */
  readonly input?: number
  readonly signal: AbortSignal
  /** Returns false when it has enough, at once or later; until then nothing more is read. */
  readonly take: (bytes: Buffer) => boolean | Promise<boolean>
}

/**
 * Runs it to its end. Resolves with how many files and folders it could not read. Contract: rejects with InputInvalid for what it
 * does not understand, and with the signal's reason.
 */
export async function runRipgrep({ args, cwd, input, signal, take }: RipgrepRun): Promise<number> {
  const executable = await findRipgrep()
  if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
  proveUnchanged(executable)
  const child = start(executable.path, [...ALWAYS, ...args, input === undefined ? './' : '-'], cwd, input)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (): void => void child.kill('SIGKILL')
  let enough = false
  const complaints = new Complaints()
  let taking: Promise<unknown> | undefined
  signal.addEventListener('abort', stop, { once: true })
  const goOn = (more: boolean): void => {
    if (more) return
    enough = true
    stop()
  }
  const fail = (error: unknown): void => {
    reject(error)
    goOn(false)
  }
  child.stdout?.on('data', (bytes: Buffer) => {
    if (enough) return
    try {
      const more = take(bytes)
      if (typeof more === 'boolean') return goOn(more)
      child.stdout?.pause()
      taking = more.then(goOn, fail).then(() => child.stdout?.resume())
    } catch (error) {
      fail(error)
    }
  })
  child.stderr?.on('data', (bytes: Buffer) => complaints.add(bytes))
  child.on('error', (cause) => reject(startFault(cause)))
  // 0: found, 1: nothing found, 2: something could not be read, or not understood if it says so.
  child.on('close', async (code, killed) => {
    // A stream that is paused ends all the same where nothing of it is left to read: what was read last may still be looked through.
    await taking
    const complaint = complaints.end()
    if (enough || code === 0 || code === 1 || (code === 2 && (complaint === '' || complaints.hasRead))) resolve()
    else if (code === 2) reject(new BulkheadError('InputInvalid', cleaned(complaint)))
    else reject(new BulkheadError('ToolExecutionFailed', `ripgrep ended early (${killed ?? code}). ${cleaned(complaint)}`.trim()))
  })
  try {
    await promise
    return complaints.unread
  } catch (error) {
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function start(file: string, args: readonly string[], cwd: string, input: number | undefined): ChildProcess {
  try {
    return spawn(file, args, { cwd, env: { LANG: 'C.UTF-8' }, stdio: [input ?? 'ignore', 'pipe', 'pipe'] })
  } catch (error) {
    throw startFault(error)
  }
}

/** Its own advice is to use options that nobody has here. */
const cleaned = (complaint: string): string => complaint.replace(/^rg: /gm, '')
  .replace(/\n\nConsider enabling multiline[^]*/, '. Set `multiline` to search across lines.')
  .replace(/\n\nConsider enabling PCRE2[^]*/, ' here. Write the pattern without it.').trim()
