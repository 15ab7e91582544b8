import { closeSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'
import { storeClosed, storeError } from '../records/stored-record.ts'
import { FileIdentity } from './database-file.ts'

/** The open entries of one owner. */
export interface Notebook {
  readonly isEmpty: boolean
  /** One line, saved soon, also without `save`. Throws StoreUnavailable. Ids are small and are reused after `drop`. */
  put(id: number, text: string): void
  /** Idempotent. Saved soon; must not throw. */
  drop(id: number): void
  /**
   * When this returns, all entries survive the process. Throws StoreUnavailable; what could not be saved is saved with
   * the next success.
   */
  save(): void
  /** Throws if the file was removed, moved or replaced. */
  requireFile(): void
  /** Open entries stay in the file for the next host. Idempotent. */
  close(): void
}

/** A larger file is replaced by one with only the open entries. */
const MAX_FILE_BYTES = 1024 ** 2
const OWNER_ONLY_FILE = 0o600

/**
 * The journal files of all owners, next to the database file. A journal is append-only: `+id text` adds an entry, `-id`
 * removes it. It is not in the database, because a commit waits for the disk or for another process. A rewritten
 * journal gets the next number before the old file is removed, so the file with the highest number is valid.
 */
export class JournalFiles {
  readonly #prefix: string
  readonly #folder: string
  readonly #open = new Set<JournalFile>()
  #closed = false

  constructor(file: string) {
    this.#folder = dirname(file)
    this.#prefix = `${basename(file)}-notes-`
  }

  /** The name must be unique, now and later. Throws StoreUnavailable. */
  open(owner: string): Notebook {
    if (this.#closed) throw storeClosed()
    const journal = new JournalFile(this.#fileOf(owner))
    this.#open.add(journal)
    return journal
  }

  async owners(): Promise<readonly string[]> {
    const names = await withFault(this.#folder, () => readdir(this.#folder))
    const journals = names.filter((name) => name.startsWith(this.#prefix) && !name.endsWith(DRAFT))
    return [...new Set(journals.flatMap((name) => decodeOwner(withoutNumber(name.slice(this.#prefix.length)))))]
  }

  /** The open entries of an owner. */
  async left(owner: string): Promise<readonly string[]> {
    const last = (await this.#filesOf(owner)).at(-1)
    if (last === undefined) return []
    return [...openEntries(await withFault(last, () => readFile(last, 'utf8').catch(emptyIfMissing))).values()]
  }

  async discard(owner: string): Promise<void> {
    // The valid file goes last. Otherwise a crash could make an older one valid again.
    for (const file of [`${this.#fileOf(owner)}${DRAFT}`, ...await this.#filesOf(owner)]) {
      await withFault(file, () => rm(file, { force: true }))
    }
  }

  /** Open entries stay in the files for the next host. */
  close(): void {
    this.#closed = true
    for (const journal of this.#open) journal.close()
  }

  #fileOf(owner: string): string {
    return join(this.#folder, this.#prefix + encodeURIComponent(owner))
  }

  async #filesOf(owner: string): Promise<readonly string[]> {
    return filesOf(this.#fileOf(owner), await withFault(this.#folder, () => readdir(this.#folder)))
  }
}

/** No owner contains `~`, and `+` is encoded. */
const DRAFT = '~'
const NUMBER = /\+\d+$/

/** Empty for a name that no journal has. */
function decodeOwner(name: string): string[] {
  try {
    return [decodeURIComponent(name)]
  } catch {
    return []
  }
}

/** Another host may have removed the file since it was listed. */
function emptyIfMissing(error: unknown): string {
  if (errorCode(error) === 'ENOENT') return ''
  throw error
}

const withoutNumber = (name: string): string => name.replace(NUMBER, '')
const numberOf = (name: string): number => Number(NUMBER.exec(name)?.[0] ?? 0)
const numbered = (file: string, number: number): string => number === 0 ? file : `${file}+${number}`

/** The files of one owner, oldest first. */
function filesOf(file: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => withoutNumber(name) === basename(file))
    .toSorted((one, other) => numberOf(one) - numberOf(other)).map((name) => join(dirname(file), name))
}

/** How long a line may wait, so that several are written at once. */
const BATCH_MS = 20

class JournalFile implements Notebook {
  readonly #file: string
  /**
   * By id. Not a Map: with many short-lived entries it reallocates often, and each old table keeps them in memory for a
   * while.
   */
  readonly #entries: (string | undefined)[] = []
  /** Opened with the first entry, because most processes have none. */
  #descriptor: number | undefined
  #identity: FileIdentity | undefined
  #number = 0
  #bytes = 0
  /** Lines that are not written yet. */
  #lines = ''
  #timer: NodeJS.Timeout | undefined
  /** Set after a failed write, which may have written a part of a line. */
  #needsRewrite = false
  #closed = false

  constructor(file: string) {
    this.#file = file
  }

  get isEmpty(): boolean {
    return this.#entries.every((text) => text === undefined)
  }

  put(id: number, text: string): void {
    if (this.#closed) throw storeClosed()
    this.#entries[id] = text
    this.#add(`+${id} ${text}\n`)
  }

  drop(id: number): void {
    if (this.#entries[id] === undefined) return
    this.#entries[id] = undefined
    if (!this.#closed) this.#add(`-${id}\n`)
  }

  save(): void {
    if (this.#lines === '' || this.#closed) return
    const lines = this.#lines
    this.#lines = ''
    try {
      this.#write(lines)
      this.#needsRewrite = false
    } catch (error) {
      this.#needsRewrite = true
      throw journalFault(this.#file, error)
    }
  }

  requireFile(): void {
    if (!this.#closed) this.#identity?.check()
  }

  close(): void {
    if (this.#closed) return
    this.#trySave()
    this.#closed = true
    if (this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    if (this.isEmpty) rmSync(numbered(this.#file, this.#number), { force: true })
  }

  #add(line: string): void {
    this.#lines += line
    this.#timer ??= setTimeout(this.#trySave, BATCH_MS)
  }

  readonly #trySave = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      this.save()
    } catch {
      // The next successful save rewrites the file. Until then removed entries count as open, which is safe.
    }
  }

  #write(lines: string): void {
    if (this.#descriptor === undefined) {
      const existing = filesOf(this.#file, readdirSync(dirname(this.#file)))
      if (existing.length > 0) throw new Error('another host uses a journal of this name')
      this.#descriptor = openSync(this.#file, 'ax', OWNER_ONLY_FILE)
      this.#identity = new FileIdentity(this.#file)
      this.#bytes = writeFully(this.#descriptor, this.#contents())
    } else if (this.#needsRewrite || this.#bytes > MAX_FILE_BYTES) {
      this.#rewrite(this.#descriptor)
    } else {
      this.#bytes += writeFully(this.#descriptor, lines)
    }
  }

  /**
   * Writes the open entries to a new file, and removes the old one afterwards, so that a crash loses nothing. The new
   * file gets another name: some file systems sync to disk when a rename replaces a file, which takes as long as a
   * thousand entries.
   */
  #rewrite(old: number): void {
    const draft = `${this.#file}${DRAFT}`
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'ax', OWNER_ONLY_FILE)
    try {
      this.#bytes = writeFully(descriptor, this.#contents())
      renameSync(draft, numbered(this.#file, this.#number + 1))
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
    this.#descriptor = descriptor
    closeSync(old)
    rmSync(numbered(this.#file, this.#number++), { force: true })
    this.#identity = new FileIdentity(numbered(this.#file, this.#number))
  }

  #contents(): string {
    return this.#entries.map((text, id) => text === undefined ? '' : `+${id} ${text}\n`).join('')
  }
}

/** Returns the number of bytes. */
function writeFully(descriptor: number, text: string): number {
  const length = Buffer.byteLength(text)
  let written = writeSync(descriptor, text)
  // A full disk may take only a part.
  while (written < length) written += writeSync(descriptor, Buffer.from(text), written)
  return length
}

/** The entries that were not removed, by id. An incomplete last line was never acknowledged. */
function openEntries(text: string): Map<number, string> {
  const entries = new Map<number, string>()
  for (const line of text.split('\n').slice(0, -1)) {
    const space = line.indexOf(' ')
    if (line.startsWith('+') && space > 0) entries.set(Number(line.slice(1, space)), line.slice(space + 1))
    else if (line.startsWith('-')) entries.delete(Number(line.slice(1)))
  }
  return entries
}

const journalFault = (file: string, cause: unknown) => {
  const message = `The call journal ${file} cannot be used: ${String(cause)}. Check that its folder is writable.`
  return storeError('disk', message, { cause, data: { file } })
}

async function withFault<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw journalFault(file, error)
  }
}
