import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { documentDigest, findParts, type PartFile } from '@bulkhead/kit/document-parts'
import { sha512 } from '../../connected/entries.ts'
import { MOST_BYTES, type SourceRead, textOfBytes } from './source.ts'

export interface DocumentPlace {
  readonly path: string
  /** The folder that must contain the file after links are resolved. undefined allows any file. */
  readonly within: string | undefined
}

/** Reads a document and the files below its folder that it refers to. Never rejects. */
export async function readFileSource(place: DocumentPlace): Promise<SourceRead> {
  const file = await readDocumentFile(place)
  if (!file.ok) return file
  const name = basename(place.path)
  const folder = dirname(await realpath(place.path))
  const search = findParts(name, file.text)
  let next = search.next()
  while (!next.done) next = search.next(await readPart(folder, next.value))
  const parts = next.value
  const texts = [...parts].flatMap(([path, part]) => part === null ? [] : [[path, part.text] as const])
  return { ok: true, name, text: file.text, digest: documentDigest(file.digest, parts), parts: texts }
}

async function readPart(folder: string, path: string): Promise<PartFile | null> {
  const file = await readDocumentFile({ path: join(folder, path), within: folder })
  return file.ok ? file : null
}

type DocumentFile = { readonly ok: true } & PartFile | { readonly ok: false; readonly message: string }

/** Never rejects, never blocks, and reads at most the size limit. */
async function readDocumentFile({ path, within }: DocumentPlace): Promise<DocumentFile> {
  try {
    // Trust in a project covers the content of the file itself, not of a link target.
    if (within !== undefined && (await lstat(path)).isSymbolicLink()) {
      return refused('is a link; use the path of its target')
    }
    const real = await realpath(path)
    if (within !== undefined && !isInside(real, within)) return refused('is outside the project')
    // Do not follow a link created since the check, and do not block on a pipe without a writer.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return refused('is not a file')
      const bytes = stat.size > MOST_BYTES ? undefined : await readAtMost(file, MOST_BYTES)
      if (bytes === undefined) return refused(`has more than ${MOST_BYTES} bytes`)
      return { ok: true, text: textOfBytes(bytes), digest: sha512(bytes) }
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return refused(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown'})`)
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
  const rest = relative(folder, path)
  return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest)
}

const refused = (message: string): DocumentFile => ({ ok: false, message })
