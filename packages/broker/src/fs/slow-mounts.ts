import { readFile } from 'node:fs/promises'

/**
 * File systems on a disk or in the memory of this machine: a question about a file takes microseconds, or a seek. All others
 * are far, those of a network or of another program first: they may keep whoever asks for ever.
 */
const NEAR: ReadonlySet<string> = new Set([
  'ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'bcachefs', 'tmpfs', 'ramfs', 'overlay', 'squashfs', 'erofs',
])

/** What is known is read again when somebody asks and it is older than this, in ms. */
const FRESH_MS = 1_000
/** A disk that keeps somebody longer than this, in ms, spins up or is overrun, */
const PATIENCE_MS = 100
/** and everything counts as far for so long. */
const REST_MS = 10_000

const EVERYTHING: readonly string[] = ['/']

/** Where the far file systems lie, on Linux. Until that is known, and where it cannot be, everything is far. */
export class FarFolders {
  readonly #table: string
  #folders = EVERYTHING
  #readAt = -Infinity
  #restsUntil = -Infinity
  #reading: Promise<void> | undefined

  constructor(table = '/proc/self/mountinfo') {
    this.#table = table
  }

  /** Whether a real path lies in a far file system, or in one that is mounted somewhere in it. */
  has(path: string): boolean {
    const now = performance.now()
    if (now - this.#readAt > FRESH_MS) void this.read()
    return now < this.#restsUntil || this.#folders.some((folder) => liesIn(path, folder))
  }

  /** To be told how long a disk took that was not far, in ms. */
  took(ms: number): void {
    if (ms > PATIENCE_MS) this.#restsUntil = performance.now() + REST_MS
  }

  /** Contract: never rejects. */
  read(): Promise<void> {
    this.#reading ??= readFile(this.#table, 'utf8').then(farFolders, () => EVERYTHING).then((folders) => {
      this.#folders = folders
      this.#readAt = performance.now()
      this.#reading = undefined
    })
    return this.#reading
  }
}

/** Of a table as proc_pid_mountinfo(5) has it: in a line the fifth word is the folder, the first after ` - ` the kind. */
export function farFolders(table: string): readonly string[] {
  const folders = table.trimEnd().split('\n').flatMap((line) => {
    const [folder, kind] = [line.split(' ')[4], line.split(' - ')[1]?.split(' ')[0]]
    if (folder === undefined || kind === undefined) return EVERYTHING
    return NEAR.has(kind) ? [] : [unescaped(folder)]
  })
  return folders.filter((folder) => !folders.some((above) => above !== folder && liesIn(folder, above)))
}

const unescaped = (folder: string): string =>
  folder.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

const liesIn = (path: string, folder: string): boolean =>
  folder === '/' || (path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/'))

/** Of this process. */
export const farFoldersHere = new FarFolders()
