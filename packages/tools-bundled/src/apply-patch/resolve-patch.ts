import { type FileReader, type FileUpdate, ToolError } from '@bulkhead/contract'
import { applyHunks, type PlacedHunk } from './apply-hunks.ts'
import { Effort, splitLines } from './find-lines.ts'
import { type FilePatch, refused } from './patch.ts'

/** What one section of a patch does, with the old and the new lines of its file. */
export interface ResolvedFile extends FilePatch {
  readonly old: readonly string[]
  readonly fresh: readonly string[]
  readonly placed: readonly PlacedHunk[]
}

export interface ResolvedPatch {
  readonly files: readonly ResolvedFile[]
  /** What to write: each file once. */
  readonly updates: readonly FileUpdate[]
}

/** Bytes of all files that a patch reads. */
const MOST_BYTES = 32 * 1024 * 1024

/** A file as it is on disk, and as the sections read so far leave it. Bytes are characters of these strings. */
interface WorkFile {
  readonly disk: string | null
  content: string | null
  executable: boolean | undefined
  /** The file that was moved or copied here. */
  like: string | undefined
}

/** Finds where every hunk belongs. Writes nothing. Throws InputInvalid if one does not fit. */
export async function resolvePatch(patches: readonly FilePatch[], fs: Pick<FileReader, 'read'>): Promise<ResolvedPatch> {
  const work = new WorkFiles(fs)
  const effort = new Effort()
  const files: ResolvedFile[] = []
  for (const patch of patches) files.push(await resolveFile(patch, work, effort))
  return { files, updates: work.updates() }
}

async function resolveFile(patch: FilePatch, work: WorkFiles, effort: Effort): Promise<ResolvedFile> {
  const { from, to, hunks, isCopy, deletesAny, executable } = patch
  const source = from === null ? undefined : await work.open(from)
  // A copy is of the file before the patch, wherever its section stands. So git reads it too.
  const before = source && (isCopy === true ? source.disk ?? source.content : source.content)
  if (before === null) {
    const cure = 'Check the path, or create the file with the patch.'
    throw new ToolError('NotFound', `"${from}" does not exist. Nothing was written. ${cure}`)
  }
  const target = to === null || to === from ? undefined : await work.open(to)
  if (typeof target?.content === 'string') {
    throw refused(`"${to}" exists already. Nothing was written. Change or delete it in the patch instead.`)
  }
  const old = splitLines(before ?? '', from ?? to ?? '')
  const { lines: fresh, hunks: placed } = applyHunks(from ?? to!, old, hunks.map(asBytes), effort)
  if (to === null && deletesAny !== true && fresh.length > 0) {
    const why = `"${from}" has ${fresh.length} lines that the patch does not remove.`
    throw refused(`${why} Nothing was written. Read the file first.`)
  }
  const changed = target ?? source!
  if (source !== undefined && changed !== source && isCopy !== true) source.content = null
  changed.content = to === null ? null : fresh.join('')
  changed.executable = executable ?? changed.executable
  if (target !== undefined && from !== null) target.like = source?.like ?? from
  return { ...patch, old, fresh: to === null ? [] : fresh, placed }
}

const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')

const asBytes = (hunk: FilePatch['hunks'][number]): FilePatch['hunks'][number] => ({
  ...hunk,
  anchors: hunk.anchors?.map(bytesOf) ?? [],
  lines: hunk.lines.map(({ sign, text }) => ({ sign, text: bytesOf(text) })),
})

class WorkFiles {
  readonly #fs: Pick<FileReader, 'read'>
  readonly #files = new Map<string, WorkFile>()
  #bytes = 0

  constructor(fs: Pick<FileReader, 'read'>) {
    this.#fs = fs
  }

  async open(path: string): Promise<WorkFile> {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const disk = await this.#read(path)
    const file: WorkFile = { disk, content: disk, executable: undefined, like: undefined }
    this.#files.set(path, file)
    return file
  }

  updates(): readonly FileUpdate[] {
    return [...this.#files].flatMap(([path, { disk, content, executable, like }]) => {
      if (content === disk && (executable === undefined || content === null)) return []
      const asUpdate = (text: string | null): Uint8Array | null => text === null ? null : Buffer.from(text, 'latin1')
      return [{
        path, before: asUpdate(disk), after: asUpdate(content),
        ...(content !== null && executable !== undefined && { executable }),
        ...(disk === null && like !== undefined && { like }),
      }]
    })
  }

  async #read(path: string): Promise<string | null> {
    try {
      const bytes = await this.#fs.read(path)
      this.#bytes += bytes.length
      if (this.#bytes > MOST_BYTES) throw refused(`The files have more than ${MOST_BYTES} bytes. Split the patch.`)
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'NotFound') return null
      throw error
    }
  }
}
