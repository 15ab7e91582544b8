import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Notebook, Notes } from '@bulkhead/contract'
import { closedFault, storeFault } from '../store-fault.ts'

/** A file that has grown to this is written anew, with what still stands in it. */
const LARGEST_BYTES = 1024 ** 2
const OWNER_ONLY_FILE = 0o600

/**
 * One file for each owner beside the store's own, only ever added to: `+id text` puts a note, `-id` drops it. Not in the
 * database, because a commit is a wait for the disk, or for another process, and a note must cost neither.
 */
export class NoteFiles implements Notes {
  readonly #prefix: string
  readonly #folder: string
  readonly #open = new Set<NoteFile>()
  #closed = false

  constructor(file: string) {
    this.#folder = dirname(file)
    this.#prefix = `${basename(file)}-notes-`
  }

  open(owner: string): Notebook {
    if (this.#closed) throw closedFault()
    const notebook = new NoteFile(this.#fileOf(owner))
    this.#open.add(notebook)
    return notebook
  }

  async owners(): Promise<readonly string[]> {
    const names = await faulty(this.#folder, () => readdir(this.#folder))
    return names.filter((name) => name.startsWith(this.#prefix) && !name.endsWith(DRAFT))
      .map((name) => decodeURIComponent(name.slice(this.#prefix.length)))
  }

  async left(owner: string): Promise<readonly string[]> {
    const file = this.#fileOf(owner)
    return [...standing(await faulty(file, () => readFile(file, 'utf8'))).values()]
  }

  async discard(owner: string): Promise<void> {
    const file = this.#fileOf(owner)
    await faulty(file, () => rm(file, { force: true }))
  }

  /** What still stands in them stays where it is, for whoever comes next. */
  close(): void {
    this.#closed = true
    for (const notebook of this.#open) notebook.close()
  }

  #fileOf(owner: string): string {
    return join(this.#folder, this.#prefix + encodeURIComponent(owner))
  }
}

const DRAFT = '~'

class NoteFile implements Notebook {
  readonly #file: string
  readonly #standing = new Map<number, string>()
  /** Made by the first note: most processes have none to make. */
  #descriptor: number | undefined
  #bytes = 0
  /** Notes that were dropped and are not crossed out yet. */
  #strikes = ''
  #closed = false

  constructor(file: string) {
    this.#file = file
  }

  put(id: number, text: string): void {
    if (this.#closed) throw closedFault()
    this.#write(`${this.#strikes}+${id} ${text}\n`)
    this.#standing.set(id, text)
    this.#strikes = ''
  }

  drop(id: number): void {
    if (!this.#standing.delete(id)) return
    // The next note takes them along; where none comes, they go by themselves.
    if (this.#strikes === '') setImmediate(this.#strike)
    this.#strikes += `-${id}\n`
  }

  close(): void {
    if (this.#closed) return
    this.#strike()
    this.#closed = true
    if (this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    if (this.#standing.size === 0) rmSync(this.#file, { force: true })
  }

  readonly #strike = (): void => {
    if (this.#strikes === '' || this.#closed) return
    try {
      this.#write(this.#strikes)
      this.#strikes = ''
    } catch {
      // They go with the next note. Until then the calls count as open, which is the safe side.
    }
  }

  #write(lines: string): void {
    try {
      this.#descriptor ??= openSync(this.#file, 'ax', OWNER_ONLY_FILE)
      if (this.#bytes > LARGEST_BYTES) this.#beginAnew()
      this.#bytes += writeSync(this.#descriptor, lines)
    } catch (error) {
      throw noteFault(this.#file, error)
    }
  }

  /** Whole at every moment: the old file is there until the new one is. */
  #beginAnew(): void {
    const draft = `${this.#file}${DRAFT}`
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'ax', OWNER_ONLY_FILE)
    const lines = [...this.#standing].map(([id, text]) => `+${id} ${text}\n`).join('')
    this.#bytes = lines === '' ? 0 : writeSync(descriptor, lines)
    renameSync(draft, this.#file)
    closeSync(this.#descriptor!)
    this.#descriptor = descriptor
  }
}

/** The notes that nobody has crossed out. A line that was not finished was never promised. */
function standing(text: string): Map<number, string> {
  const notes = new Map<number, string>()
  for (const line of text.split('\n').slice(0, -1)) {
    const space = line.indexOf(' ')
    if (line.startsWith('+') && space > 0) notes.set(Number(line.slice(1, space)), line.slice(space + 1))
    else if (line.startsWith('-')) notes.delete(Number(line.slice(1)))
  }
  return notes
}

const noteFault = (file: string, cause: unknown) =>
  storeFault('disk', `The notes in ${file} cannot be used: ${String(cause)}. See that the folder can be written to.`, { cause, data: { file } })

async function faulty<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw noteFault(file, error)
  }
}
