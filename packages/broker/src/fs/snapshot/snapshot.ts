import { readFileSync, type Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { RECORD_LIMITS, type FileReplacement, type FileState, type Power } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { ABSENT, fileState, KEPT_BYTES } from '../change-record.ts'
import type { HostFolders } from '../file-scope.ts'
import { isSliceSpent, nextSlice } from '../search/file-pattern.ts'
import { isSame } from '../undo/plan.ts'
import { Copies } from './copies.ts'
import { NotRecorded, tooLarge } from './limits.ts'
import { withSameFile } from './same-file.ts'
import { readTree, type Tree, type TreeEntry, type TreeRequest } from './tree.ts'

export interface SnapshotParts {
  /** The workspace, and folders beside it that commands may write. */
  readonly roots: readonly string[]
  readonly folders: HostFolders
  /** Of the home of the host. Copies are kept beside it. */
  readonly journal: string | undefined
}

/** The clock of file systems has steps. A file that changed so shortly before it was found is compared by content. */
const CLOCK_STEP_MS = 50

/** What was in some folders, so that changes are found later. */
export class Snapshot {
  readonly #request: Omit<TreeRequest, 'signal'>
  readonly #before: Tree
  readonly #copies: Copies
  readonly #since: number

  private constructor(request: Omit<TreeRequest, 'signal'>, before: Tree, copies: Copies, since: number) {
    this.#request = request
    this.#before = before
    this.#copies = copies
    this.#since = since
  }

  /** Rejects with NotRecorded. Remove it. */
  static async take(parts: SnapshotParts, signal: AbortSignal): Promise<Snapshot> {
    const since = Date.now() - CLOCK_STEP_MS
    const request = await requestOf(parts)
    const before = await readTree({ ...request, signal })
    const copies = await Copies.open(parts.journal)
    try {
      requireRoom(before, copies)
      for (const [path, found] of keptFiles(before)) {
        signal.throwIfAborted()
        await copies.add(path, found)
      }
      return new Snapshot(request, before, copies, since)
    } catch (error) {
      await copies.remove()
      throw error
    }
  }

  /** What is different now, without content. Rejects with NotRecorded. */
  async changes(signal: AbortSignal): Promise<readonly FileReplacement[]> {
    const after = await readTree({ ...this.#request, before: this.#before, signal })
    const changes: FileReplacement[] = []
    for (const path of new Set([...this.#before.entries.keys(), ...after.entries.keys()])) {
      if (isSliceSpent()) await nextSlice()
      const [was, is] = [this.#before.entries.get(path), after.entries.get(path)]
      if (this.#isUntouched(was, is)) continue
      const change = { path, before: this.#stateBefore(path, was), after: stateNow(path, is) }
      if (!isUnchanged(change)) changes.push(change)
    }
    return changes
  }

  /** What a file contained. undefined if it is not kept. */
  content(path: string): Uint8Array | undefined {
    return this.#copies.content(path)
  }

  remove(): Promise<void> {
    return this.#copies.remove()
  }

  #isUntouched(was: TreeEntry | undefined, is: TreeEntry | undefined): boolean {
    if (was?.kind !== 'file' || is?.kind !== 'file') return false
    const [one, other] = [was.found, is.found]
    return one.ctimeMs < this.#since && one.ctimeMs === other.ctimeMs && one.mtimeMs === other.mtimeMs
      && one.size === other.size && one.ino === other.ino && one.dev === other.dev
  }

  #stateBefore(path: string, was: TreeEntry | undefined): FileState {
    if (was?.kind !== 'file') return stateNow(path, was)
    const content = this.#copies.content(path)
    return content === undefined ? withoutContent(was.found) : fileState(content, was.found.mode)
  }
}

/**
 * Why the changes of commands of a tool with this grant would not be recorded. undefined if they would. Never rejects.
 */
export async function whyUnrecorded(
  grant: Power, parts: Omit<SnapshotParts, 'roots'> & { readonly workspace: string }, signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const roots = [parts.workspace, ...grant.fs.commandRoots ?? []]
    const tree = await readTree({ ...await requestOf({ ...parts, roots }), signal })
    if (bytesOf(tree) <= RECORD_LIMITS.bytes) return undefined
    const copies = await Copies.open(parts.journal)
    try {
      requireRoom(tree, copies)
    } finally {
      await copies.remove()
    }
    return undefined
  } catch (error) {
    return error instanceof NotRecorded ? error.message : `the folders cannot be read: ${messageOf(error)}`
  }
}

const requestOf = async ({ roots, folders }: SnapshotParts): Promise<Omit<TreeRequest, 'signal'>> =>
  ({ folders, roots: await Promise.all(roots.map((root) => realpath(root))) })

/** Longer files are recorded without content, as everywhere. */
const keptFiles = ({ entries }: Tree): readonly (readonly [path: string, found: Stats])[] =>
  [...entries].flatMap(([path, entry]) =>
    entry.kind === 'file' && entry.found.size <= KEPT_BYTES ? [[path, entry.found] as const] : [])

const bytesOf = (tree: Tree): number => keptFiles(tree).reduce((sum, [, { size }]) => sum + size, 0)

/** Throws NotRecorded if too much would have to be copied. Call it before the first copy. */
function requireRoom(tree: Tree, copies: Copies): void {
  if (bytesOf(tree) <= RECORD_LIMITS.bytes) return
  const copied = keptFiles(tree).filter(([path, found]) => !copies.canClone(path, found))
    .reduce((sum, [, { size }]) => sum + size, 0)
  if (copied > RECORD_LIMITS.bytes) throw tooLarge()
}

/** Permissions count too. */
const isUnchanged = ({ before, after }: FileReplacement): boolean =>
  isSame(before, after) && ('mode' in before ? before.mode : 0) === ('mode' in after ? after.mode : 0)

function stateNow(path: string, entry: TreeEntry | undefined): FileState {
  if (entry === undefined) return ABSENT
  if (entry.kind === 'link') return { kind: 'link', target: entry.target }
  if (entry.kind === 'folder') return { kind: 'folder', mode: entry.found.mode & 0o777 }
  const content = withSameFile(path, entry.found, (descriptor, size) =>
    size > KEPT_BYTES ? undefined : readFileSync(descriptor))
  return content === undefined ? withoutContent(entry.found) : fileState(content, entry.found.mode)
}

const withoutContent = ({ size, mode }: Stats): FileState => ({ kind: 'file', digest: null, size, mode: mode & 0o777 })
