import { spawn, type ChildProcess } from 'node:child_process'
import { basename, dirname } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { mentionsResourceShortage } from '@bulkhead/kit/processes'
import { startError } from '../../process/spawn.ts'
import { Executables, UntrustedFolders, requireUnchanged, type Executable } from '../../process/executable.ts'

/** No configuration and no global ignore files. Links are not followed. */
const ALWAYS = [
  '--no-config', '--no-ignore-messages', '--color=never', '--hidden', '--no-follow', '--no-require-git',
  '--no-ignore-global',
  '--glob=!.git', '--glob=!.hg', '--glob=!.svn', '--glob=!.jj',
]

let found: Promise<Executable> | undefined

/**
 * Finds the ripgrep binary and pins it, because it may be in a folder that tools can write. Contract: rejects with
 * ResourceBusy during a shortage of resources.
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
    // Throws if there is no binary for this platform.
    const { rgPath } = await import('@vscode/ripgrep')
    return await new Executables([dirname(rgPath)], new UntrustedFolders([])).find(basename(rgPath))
  } catch (cause) {
    if (mentionsResourceShortage(messageOf(cause))) {
      throw new BulkheadError(
        'ResourceBusy',
        'The system lacks resources to start ripgrep. Try again later.',
        { cause },
      )
    }
    const why = 'ripgrep is not installed for this platform, so files cannot be searched. '
      + 'Install the optional dependencies.'
    throw new BulkheadError('CapabilityUnavailable', why, { cause })
  }
}

export interface RipgrepRun {
  readonly args: readonly string[]
  /** The folder to start in. Contract: it stays open until the promise settles. */
  readonly cwd: string
  /** A descriptor to search instead of the folder. */
  readonly input?: number
  readonly signal: AbortSignal
  /** Returns false when it has enough. While its promise is pending, nothing more is read. */
  readonly take: (bytes: Buffer) => boolean | Promise<boolean>
}

/**
 * Runs ripgrep. Resolves with the number of files and folders it could not read. Contract: rejects with InputInvalid
 * for an invalid pattern, and with the reason of the signal.
 */
export async function runRipgrep({ args, cwd, input, signal, take }: RipgrepRun): Promise<number> {
  const executable = await findRipgrep()
  if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
  requireUnchanged(executable)
  const child = start(executable.path, [...ALWAYS, ...args, input === undefined ? './' : '-'], cwd, input)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (): void => void child.kill('SIGKILL')
  let enough = false
  const errors = new RipgrepErrors()
  let taking: Promise<unknown> | undefined
  signal.addEventListener('abort', stop, { once: true })
  const stopUnless = (more: boolean): void => {
    if (more) return
    enough = true
    stop()
  }
  const fail = (error: unknown): void => {
    reject(error)
    stopUnless(false)
  }
  child.stdout?.on('data', (bytes: Buffer) => {
    if (enough) return
    try {
      const more = take(bytes)
      if (typeof more === 'boolean') return stopUnless(more)
      child.stdout?.pause()
      // Node resumes the stream when the process exits, so that several chunks may be in progress at the end.
      taking = Promise.all([taking, more.then(stopUnless, fail)]).then(() => child.stdout?.resume())
    } catch (error) {
      fail(error)
    }
  })
  child.stderr?.on('data', (bytes: Buffer) => errors.add(bytes))
  child.on('error', (cause) => reject(startError(cause)))
  // 0: found, 1: nothing found, 2: unreadable files, or an invalid pattern.
  child.on('close', async (code, killed) => {
    // A stream can close while its last chunks are still being processed.
    await taking
    const message = errors.end()
    if (enough || code === 0 || code === 1 || (code === 2 && (message === '' || errors.hasRead))) resolve()
    else if (code === 2) reject(new BulkheadError('InputInvalid', cleaned(message)))
    else {
      const why = `ripgrep ended early (${killed ?? code}). ${cleaned(message)}`.trim()
      reject(new BulkheadError('ToolExecutionFailed', why))
    }
  })
  try {
    await promise
    return errors.unread
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
    throw startError(error)
  }
}

/** Replaces advice about command line options, which tools cannot set. */
const cleaned = (message: string): string => message.replace(/^rg: /gm, '')
  .replace(/\n\nConsider enabling multiline[^]*/, '. Set `multiline` to search across lines.')
  .replace(/\n\nConsider enabling PCRE2[^]*/, ' here. Write the pattern without it.').trim()

const TEXT_CHARS = 4_096
/** The end of a line about an error of the system. */
const SYSTEM = /\(os error (\d+)\)$/
/** Removed before ripgrep could read it. */
const NOT_FOUND = new Set(['2', '3'])

/** Reads stderr of ripgrep: one line per unreadable file or folder, or a message about the pattern. */
export class RipgrepErrors {
  /** Files and folders that could not be read. */
  unread = 0
  /** Whether it got as far as reading files, so the pattern is valid. */
  hasRead = false
  #text = ''
  #rest = ''

  add(bytes: Buffer): void {
    const lines = `${this.#rest}${bytes.toString('utf8')}`.split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#take(line)
  }

  /** The message that is not about files. */
  end(): string {
    if (this.#rest !== '') this.#take(this.#rest)
    this.#rest = ''
    return this.#text
  }

  #take(line: string): void {
    const number = SYSTEM.exec(line)?.[1]
    if (number === undefined) {
      if (this.#text.length < TEXT_CHARS) this.#text += `${line}\n`
      return
    }
    this.hasRead = true
    if (!NOT_FOUND.has(number)) this.unread++
  }
}
