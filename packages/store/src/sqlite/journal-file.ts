import { closeSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Notebook, Notes } from '@bulkhead/contract'
import { storeClosed, storeError } from '../records/stored-record.ts'

/** A file that has grown to this is written anew, with what still stands in it. */
const LARGEST_BYTES = 1024 ** 2
const OWNER_ONLY_FILE = 0o600

/**
 * One file for each owner beside the store's own, only ever added to: `+id text` puts a note, `-id` drops it. Not in the
 * database, because a commit is a wait for the disk, or for another process, and a note must cost neither. When it is written anew it
 * gets the next number, and only then the old one is removed: of several files the last counts.
 */
export class JournalFiles implements Notes {
  readonly #prefix: string
  readonly #folder: string
  readonly #open = new Set<JournalFile>()
  #closed = false

  constructor(file: string) {
    this.#folder = dirname(file)
    this.#prefix = `${basename(file)}-notes-`
  }

  open(owner: string): Notebook {
    if (this.#closed) throw storeClosed()
    const notebook = new JournalFile(this.#fileOf(owner))
    this.#open.add(notebook)
    return notebook
  }

  async owners(): Promise<readonly string[]> {
    const names = await faulty(this.#folder, () => readdir(this.#folder))
    const ofOwners = names.filter((name) => name.startsWith(this.#prefix) && !name.endsWith(DRAFT))
    return [...new Set(ofOwners.flatMap((name) => ownerIn(withoutNumber(name.slice(this.#prefix.length)))))]
  }

  async left(owner: string): Promise<readonly string[]> {
    const last = (await this.#filesOf(owner)).at(-1)
    return last === undefined ? [] : [...standing(await faulty(last, () => readFile(last, 'utf8').catch(goneIsEmpty))).values()]
  }

  async discard(owner: string): Promise<void> {
    // The last at last: none of those before it may come to count.
    for (const file of [`${this.#fileOf(owner)}${DRAFT}`, ...await this.#filesOf(owner)]) await faulty(file, () => rm(file, { force: true }))
  }

  /** Open entries stay in the files for the next host. */
  close(): void {
    this.#closed = true
    for (const notebook of this.#open) notebook.close()
  }

  #fileOf(owner: string): string {
    return join(this.#folder, this.#prefix + encodeURIComponent(owner))
  }

  async #filesOf(owner: string): Promise<readonly string[]> {
    return filesOf(this.#fileOf(owner), await faulty(this.#folder, () => readdir(this.#folder)))
  }
}

/** Neither stands in the name of an owner. */
const DRAFT = '~'
const NUMBER = /\+\d+$/

/** None where it is no name of ours. */
function ownerIn(name: string): string[] {
  try {
    return [decodeURIComponent(name)]
  } catch {
    return []
  }
}

/** Of several hosts that look for what one has left, another may have been quicker. */
function goneIsEmpty(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
  throw error
}

const withoutNumber = (name: string): string => name.replace(NUMBER, '')
const numberOf = (name: string): number => Number(NUMBER.exec(name)?.[0] ?? 0)
const numbered = (file: string, number: number): string => number === 0 ? file : `${file}+${number}`

/** Those of one owner, from the oldest. */
function filesOf(file: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => withoutNumber(name) === basename(file)).toSorted((one, other) => numberOf(one) - numberOf(other))
    .map((name) => join(dirname(file), name))
}

/** How long a note, or that it was dropped, may wait for others to be saved with. */
const GATHERING_MS = 20

class JournalFile implements Notebook {
  readonly #file: string
  /** By number. No map: one that many notes pass through is made anew again and again, and each old one keeps them alive for a while. */
  readonly #identity: (string | undefined)[] = []
  /** Made by the first note: most processes have none to make. */
  #descriptor: number | undefined
  #number = 0
  #bytes = 0
  /** Lines that are not saved yet. */
  #lines = ''
  #timer: NodeJS.Timeout | undefined
  /** What stands in the file may not be what stands: it is written anew. */
  #isTorn = false
  #closed = false

  constructor(file: string) {
    this.#file = file
  }

  put(id: number, text: string): void {
    if (this.#closed) throw storeClosed()
    this.#identity[id] = text
    this.#add(`+${id} ${text}\n`)
  }

  drop(id: number): void {
    if (this.#identity[id] === undefined) return
    this.#identity[id] = undefined
    if (!this.#closed) this.#add(`-${id}\n`)
  }

  save(): void {
    if (this.#lines === '' || this.#closed) return
    const lines = this.#lines
    this.#lines = ''
    try {
      this.#write(lines)
      this.#isTorn = false
    } catch (error) {
      this.#isTorn = true
      throw noteFault(this.#file, error)
    }
  }

  close(): void {
    if (this.#closed) return
    this.#saveAnyway()
    this.#closed = true
    if (this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    if (this.#identity.every((text) => text === undefined)) rmSync(numbered(this.#file, this.#number), { force: true })
  }

  #add(line: string): void {
    this.#lines += line
    this.#timer ??= setTimeout(this.#saveAnyway, GATHERING_MS)
  }

  readonly #saveAnyway = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      this.save()
    } catch {
      // They go with the next that can be saved. Until then what was dropped counts as open, which is the safe side.
    }
  }

  #write(lines: string): void {
    if (this.#descriptor === undefined) {
      if (filesOf(this.#file, readdirSync(dirname(this.#file))).length > 0) throw new Error('others use them')
      this.#descriptor = openSync(this.#file, 'ax', OWNER_ONLY_FILE)
      this.#bytes = writeWhole(this.#descriptor, this.#whole())
    } else if (this.#isTorn || this.#bytes > LARGEST_BYTES) {
      this.#beginAnew(this.#descriptor)
    } else {
      this.#bytes += writeWhole(this.#descriptor, lines)
    }
  }

  /**
   * Whole at every moment: the old file is there until the new one is. Never in its place: file systems that guard against a loss of
   * power then wait for the disk, which takes as long as a thousand notes.
   */
  #beginAnew(old: number): void {
    const draft = `${this.#file}${DRAFT}`
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'ax', OWNER_ONLY_FILE)
    try {
      this.#bytes = writeWhole(descriptor, this.#whole())
      renameSync(draft, numbered(this.#file, this.#number + 1))
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
    this.#descriptor = descriptor
    closeSync(old)
    rmSync(numbered(this.#file, this.#number++), { force: true })
  }

  #whole(): string {
    return this.#identity.map((text, id) => text === undefined ? '' : `+${id} ${text}\n`).join('')
  }
}

/** Short lines are put into bytes here, without memory of their own. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024)
const MAX_BYTES_PER_CHAR = 3

/** Returns how many bytes that were. */
function writeWhole(descriptor: number, text: string): number {
  const isShort = text.length * MAX_BYTES_PER_CHAR <= scratch.length
  const bytes = isShort ? scratch : Buffer.from(text)
  const length = isShort ? scratch.write(text) : bytes.length
  for (let at = 0; at < length;) at += writeSync(descriptor, bytes, at, length - at)
  return length
}

/** The entries that were not removed. An incomplete line was never acknowledged. */
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
  storeError('disk', `The notes in ${file} cannot be used: ${String(cause)}. See that the folder can be written to.`, { cause, data: { file } })

async function faulty<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw noteFault(file, error)
  }
}
