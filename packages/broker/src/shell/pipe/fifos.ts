import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { isResourceShortage } from '../../process/resources.ts'
import { reaper } from '../../process/reaper.ts'

const run = promisify(execFile)
const MAKE_MS = 10_000

/**
 * Pipes between commands. Node connects processes by sockets, and a command that writes to a closed socket gets another
 * error than from a closed pipe, and reports it.
 */
export class Fifos {
  readonly #ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]

  private constructor(ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]) {
    this.#ends = ends
  }

  /** Contract: rejects with ResourceBusy, or with ToolExecutionFailed if no folder is writable. `mkfifo`: path of the program. */
  static async open(count: number, mkfifo: string): Promise<Fifos> {
    if (count === 0) return new Fifos([])
    const folder = await temporaryFolder()
    const release = reaper.hold('folder', folder)
    const ends: { read: FileHandle; write: FileHandle }[] = []
    try {
      const paths = Array.from({ length: count }, (_, index) => join(folder, String(index)))
      await run(mkfifo, ['-m', '600', '--', ...paths], { env: {}, timeout: MAKE_MS, killSignal: 'SIGKILL' })
      for (const path of paths) ends.push(await openEnds(path))
      return new Fifos(ends)
    } catch (error) {
      await new Fifos(ends).close()
      throw noPipe(error)
    } finally {
      await rm(folder, { recursive: true, force: true })
      release()
    }
  }

  /** The end from which the next command reads. */
  readEnd(index: number): number | undefined {
    return this.#ends[index]?.read.fd
  }

  writeEnd(index: number): number | undefined {
    return this.#ends[index]?.write.fd
  }

  /** Call it once the commands have inherited the ends, so that each sees the end of the other. */
  async close(): Promise<void> {
    await Promise.all(this.#ends.flatMap(({ read, write }) => [read, write]).map((end) => end.close().catch(() => undefined)))
  }
}

/** open() waits for the other end, unless it is non-blocking. A non-blocking reader stands in until both are open. */
async function openEnds(path: string): Promise<{ readonly read: FileHandle; readonly write: FileHandle }> {
  const standIn = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let write: FileHandle | undefined
  try {
    write = await open(path, constants.O_WRONLY)
    return { write, read: await open(path, constants.O_RDONLY) }
  } catch (error) {
    await write?.close()
    throw error
  } finally {
    await standIn.close()
  }
}

/** Folders for pipes. The first that works is used. */
const pipeFolders = (): readonly string[] =>
  [...new Set([tmpdir(), process.env['XDG_RUNTIME_DIR'], '/tmp', '/var/tmp', '/dev/shm'])].filter((folder) => folder !== undefined)

async function temporaryFolder(): Promise<string> {
  const folders = pipeFolders()
  let first: unknown
  for (const parent of folders) {
    try {
      return await mkdtemp(join(parent, 'bulkhead-pipe-'))
    } catch (error) {
      if (isResourceShortage(error)) throw noPipe(error)
      first ??= error
    }
  }
  const why = (first as NodeJS.ErrnoException).code ?? 'unknown'
  const message = `The pipe between commands was not created: none of the folders ${folders.join(', ')} `
    + `is writable (${why}). Set TMPDIR to a writable folder.`
  throw new BulkheadError('ToolExecutionFailed', message, { cause: first, data: { folders: [...folders] } })
}

const noPipe = (cause: unknown): BulkheadError =>
  new BulkheadError('ResourceBusy', 'The pipe between commands could not be created. Try again later.', { cause })
