import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import { sha512 } from '../connected/digest.ts'
import type { DocumentPlace } from './document-entry.ts'

const MOST_BYTES = 16 * 1024 * 1024

export type DocumentFile =
  | { readonly ok: true; readonly text: string; readonly digest: string }
  /** The message is the end of a sentence. */
  | { readonly ok: false; readonly message: string }

/** Contract: never rejects, waits for nobody, reads no more than it may. */
export async function readDocumentFile({ path, within }: DocumentPlace): Promise<DocumentFile> {
  try {
    // Trust in a project is bound to what the file itself holds.
    if (within !== undefined && (await lstat(path)).isSymbolicLink()) return refused('is a link; name the file that it leads to')
    const real = await realpath(path)
    if (within !== undefined && !isInside(real, within)) return refused('lies outside of the project')
    // Neither a link that has come since, nor a pipe that nobody writes to.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return refused('is no file')
      const bytes = stat.size > MOST_BYTES ? undefined : await readAtMost(file, MOST_BYTES)
      if (bytes === undefined) return refused(`has more than ${MOST_BYTES} bytes`)
      return { ok: true, text: bytes.toString('utf8').replace(/^\uFEFF/, ''), digest: sha512(bytes) }
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return refused(code === 'ENOENT' ? 'is not there' : `cannot be read (${code ?? 'unknown'})`)
  }
}

async function readAtMost(file: Awaited<ReturnType<typeof open>>, most: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of file.createReadStream({ end: most, autoClose: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
  }
  return bytes > most ? undefined : Buffer.concat(pieces)
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

const refused = (message: string): DocumentFile => ({ ok: false, message })
