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
 * Pipes between commands, both ends of each. Node offers none: what it connects processes by is a socket, by which whoever
 * writes to one that has gone hears another error than from a pipe, and complains.
 */
export class Fifos {
  readonly #ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]

  private constructor(ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]) {
    this.#ends = ends
  }

  /** Contract: rejects with ResourceBusy, or with ToolExecutionFailed where no folder can be written, with nothing left. `mkfifo` is the path of that program. */
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

  /** What the command after that place reads from. */
  readEnd(index: number): number | undefined {
    return this.#ends[index]?.read.fd
  }

  writeEnd(index: number): number | undefined {
    return this.#ends[index]?.write.fd
  }

  /** Once the commands have their own: the end of each is seen by the other only when nobody else holds it. */
  async close(): Promise<void> {
    await Promise.all(this.#ends.flatMap(({ read, write }) => [read, write]).map((end) => end.close().catch(() => undefined)))
  }
}

/** An open waits for the other end. The first one does not, and stands in until there are two that read and write as usual. */
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

/** Where pipes are made, from the first that works: the temporary folder, and others that most systems have. */
const placesOfPipes = (): readonly string[] => [...new Set([tmpdir(), process.env['XDG_RUNTIME_DIR'], '/tmp', '/var/tmp', '/dev/shm'])].filter((place) => place !== undefined)

async function temporaryFolder(): Promise<string> {
  const places = placesOfPipes()
  let first: unknown
  for (const place of places) {
    try {
      return await mkdtemp(join(place, 'bulkhead-pipe-'))
    } catch (error) {
      if (isResourceShortage(error)) throw noPipe(error)
      first ??= error
    }
  }
  // It would fail again: nothing but a person can change that.
  const why = (first as NodeJS.ErrnoException).code ?? 'unknown'
  const message = `No pipe between commands could be made: none of the folders ${places.join(', ')} can be written (${why}). Set TMPDIR to a folder that can.`
  throw new BulkheadError('ToolExecutionFailed', message, { cause: first, data: { folders: [...places] } })
}

const noPipe = (cause: unknown): BulkheadError =>
  new BulkheadError('ResourceBusy', 'No pipe between commands could be made. Try again later.', { cause })
