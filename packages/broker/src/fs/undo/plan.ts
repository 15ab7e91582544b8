import type { FileState, RecordedChange, RecordedFile } from '@bulkhead/contract'

/** The changes of one path that are to be undone, oldest first, with what earlier attempts to undo them did. */
export interface Chain {
  readonly path: string
  readonly changes: readonly RecordedFile[]
  /** Changes of the path by other calls, after the first of these. */
  readonly others: readonly RecordedFile[]
}

export interface PlannedStep {
  readonly path: string
  readonly current: FileState
  readonly target: FileState
  /** The changes that it puts back. */
  readonly undoes: readonly number[]
  /** The permissions that the file gets; undefined: those that it has. */
  readonly mode?: number | undefined
  /** What would be lost. */
  readonly lost?: string
}

/** `all`: the changes of the workspace. Both oldest first. */
export function chainsOf(selected: readonly RecordedChange[], all: readonly RecordedChange[]): readonly Chain[] {
  const ids = new Set(selected.map(({ id }) => id))
  const wanted = selected.filter((change) => change.kind === 'file')
  const paths = new Set(wanted.map(({ path }) => path))
  // An attempt that was interrupted belongs to the changes that it puts back.
  for (const { id, undoes = [] } of all) if (undoes.some((undone) => ids.has(undone))) ids.add(id)
  const byPath = Map.groupBy(all.filter((change) => change.kind === 'file'), ({ path }) => path)
  return [...paths].map((path) => {
    const recorded = byPath.get(path) ?? []
    const changes = recorded.filter(({ id }) => ids.has(id))
    const first = changes[0]!.id
    return { path, changes, others: recorded.filter(({ id }) => id > first && !ids.has(id)) }
  })
}

/** What to do about one path. undefined: it is as it was before the changes. */
export function planStep({ path, changes, others }: Chain, current: FileState): PlannedStep | undefined {
  const target = changes[0]!.before
  const mode = modeFor(target, current, changes.at(-1)!)
  const hasMode = mode === undefined || !hasRights(current) || current.mode === mode
  if (isSame(current, target) && hasMode) return undefined
  const lost = lossOf(changes, others, current)
  return { path, current, target, undoes: changes.map(({ id }) => id), mode, ...(lost !== undefined && { lost }) }
}

/** Whether it has permissions of its own. */
export const hasRights = (state: FileState): state is Extract<FileState, { readonly mode: number }> => 'mode' in state

/** Permissions of a file that were changed after the last change stay. */
function modeFor(target: FileState, current: FileState, { after }: RecordedFile): number | undefined {
  if (!hasRights(target)) return undefined
  const isChangedSince = current.kind === 'file' && after.kind === 'file' && current.mode !== after.mode
  return isChangedSince ? undefined : target.mode
}

/**
 * Content is safe if one of the changes made or replaced it. The states must follow each other: what another call did
 * in between would be lost too.
 */
function lossOf(
  changes: readonly RecordedFile[], others: readonly RecordedFile[], current: FileState,
): string | undefined {
  const known: FileState[] = []
  for (const { before, after } of changes) {
    if (known.length > 0 && !known.some((state) => isSame(state, before))) return byOthers(changes, others, current)
    known.push(before, after)
  }
  return known.some((state) => isSame(state, current)) ? undefined : byOthers(changes, others, current)
}

function byOthers(
  changes: readonly RecordedFile[], others: readonly RecordedFile[], { kind }: FileState,
): string {
  const { sessionId } = changes[0]!
  const what = kind === 'absent' ? 'it was removed since' : 'it was changed since'
  const names = new Set(others.map((other) =>
    other.sessionId === sessionId ? `${other.tool} in call ${other.callId}` : `${other.tool} in another session`))
  return names.size === 0 ? `${what}, by a command or another program` : `${what} by ${[...names].join(', ')}`
}

/** By content. Permissions are compared where they matter. */
export function isSame(one: FileState, other: FileState): boolean {
  if (one.kind === 'link' && other.kind === 'link') return one.target === other.target
  if (one.kind !== 'file' || other.kind !== 'file') return one.kind === other.kind
  return one.digest !== null && one.digest === other.digest
}

/** The steps in the order in which they are made. A path may occur twice: a folder that becomes a file goes first. */
export interface OrderedSteps {
  /** What goes first, deepest first: everything, if something becomes another kind of thing; otherwise nothing. */
  readonly before: readonly PlannedStep[]
  /** Highest first. */
  readonly folders: readonly PlannedStep[]
  /** Written and removed files. */
  readonly files: readonly PlannedStep[]
  /** Written links. */
  readonly links: readonly PlannedStep[]
  /** Folders and links that go last, deepest first. */
  readonly after: readonly PlannedStep[]
}

export function inOrder(steps: readonly PlannedStep[]): OrderedSteps {
  const byDepth = steps.toSorted((one, other) => depthOf(one) - depthOf(other))
  const removals = byDepth.filter(({ current, target }) => current.kind !== 'absent' && current.kind !== target.kind)
    .toReversed()
  const isBlocked = removals.some(({ target }) => target.kind !== 'absent')
  const files = byDepth.filter(({ target }) => target.kind === 'file')
  return {
    before: isBlocked ? removals : [],
    folders: byDepth.filter(({ target }) => target.kind === 'folder'),
    files: isBlocked ? files : [...files, ...removals.filter(({ current }) => current.kind === 'file')],
    links: byDepth.filter(({ target }) => target.kind === 'link'),
    after: isBlocked ? [] : removals.filter(({ current }) => current.kind !== 'file'),
  }
}

const depthOf = ({ path }: PlannedStep): number => path.split(/[\\/]/).length
