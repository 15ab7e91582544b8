import type { Outcome } from '../model/outcome.ts'

/** What is at a path. */
export type FileState =
  | { readonly kind: 'absent' }
  /**
   * `digest`: SHA-256 in hex, or null if the content is not kept: the file is too long, or cannot be read. `mode`: the
   * nine permission bits.
   */
  | { readonly kind: 'file'; readonly digest: string | null; readonly size: number; readonly mode: number }
  | { readonly kind: 'folder'; readonly mode: number }
  /** `target`: as it is written in the link. */
  | { readonly kind: 'link'; readonly target: string }

/** A file or folder that a call is about to change. */
export interface FileReplacement {
  /** Absolute, without links. */
  readonly path: string
  readonly before: FileState
  readonly after: FileState
  /** The content before, if it can be kept. */
  readonly content?: Uint8Array | undefined
  /** The changes that this one puts back. */
  readonly undoes?: readonly number[] | undefined
}

/** Records what a call is about to do, so that it can be undone. `callId`: as the compartment knows it. */
export interface ChangeRecorder {
  /** Call it before the change becomes visible. Rejects with StoreUnavailable: then do not make the change. */
  file(callId: string, change: FileReplacement): Promise<void>
  /** Call it before the command starts: what it does cannot be undone, until `complete` resolves. Rejects like `file`. */
  command(callId: string, command: string): Promise<CommandRecorder>
  /** The changes that a call has put back completely. Rejects like `file`. */
  undone(callId: string, undoes: readonly number[]): Promise<void>
}

/** Records what a command has changed, also after its call has ended. Each function rejects with StoreUnavailable. */
export interface CommandRecorder {
  /** What others have recorded in the workspace since the command was. Oldest first. */
  others(): Promise<readonly RecordedFile[]>
  file(change: FileReplacement): Promise<void>
  /** Everything that the command changed is recorded. */
  complete(): Promise<void>
}

/** The call that made a change. */
export interface ChangeSource {
  readonly workspace: string
  readonly sessionId: string
  /** From 1 in each session; 0 outside of a turn. */
  readonly turn: number
  readonly callId: string
  /** The call of the model, if a tool made this one. To undo it includes this one. */
  readonly rootCallId: string
  readonly tool: string
  /** Of a sub-agent: the calls that delegate, the outermost first. To undo one of them includes this one. */
  readonly delegatedBy?: readonly DelegatingCall[] | undefined
}

/** A call of `task`, or the program that makes it. */
export type DelegatingCall = Pick<ChangeSource, 'sessionId' | 'turn' | 'callId'>

export type NewChange = ChangeSource & { readonly undoes?: readonly number[] | undefined } & (
  | { readonly kind: 'file'; readonly path: string; readonly before: FileState; readonly after: FileState }
  | { readonly kind: 'command'; readonly command: string }
  /** The files that a command changed are recorded. `command`: its id. Without this, what it did cannot be undone. */
  | { readonly kind: 'recorded'; readonly command: number }
  /** An effect outside of files. Its content is the JSON of the arguments and the result, for `revert` of the tool. */
  | { readonly kind: 'effect'; readonly digest: string }
  /** An undo that is complete. Until then the changes in `undoes` count as not undone. */
  | { readonly kind: 'undo' }
)

export type RecordedChange = NewChange & {
  /** Increases with each change of any process. */
  readonly id: number
  /** Milliseconds since 1970. */
  readonly at: number
}
export type RecordedFile = Extract<RecordedChange, { kind: 'file' }>

export interface ChangeFilter {
  /** A session that is no sub-agent. Its sub-agents are included. */
  readonly sessionId?: string
  readonly workspace?: string
  /** Only changes with a higher id. */
  readonly after?: number
}

/** Changes and the content that they replaced, up to a limit of size and age: the oldest content is dropped first. */
export interface ChangeStore {
  /**
   * Stores `content` once, by its SHA-256. When this resolves, with the id, the change survives the process. `at`: the
   * time of one that is copied from another store. Default: now.
   */
  add(change: NewChange, content?: Uint8Array, at?: number): Promise<number>
  /** Oldest first. */
  list(filter: ChangeFilter): Promise<readonly RecordedChange[]>
  /** undefined if it was dropped. */
  content(digest: string): Promise<Uint8Array | undefined>
}

/** The changes of a call, of a turn, or of the whole session. Default: of the last call that changed something. */
export interface UndoSelection {
  readonly call?: string
  readonly turn?: number
  readonly session?: boolean
}

export interface UndoRequest extends UndoSelection {
  /** Changes nothing; the report has the diff. */
  readonly dryRun?: boolean
  /** Undo also if later changes are lost, and leave out what cannot be put back. */
  readonly force?: boolean
}

/** Paths are relative to the workspace, if they are in it. */
export interface UndoReport {
  readonly applied: boolean
  /** Nothing is left to put back, because an earlier undo did it. */
  readonly alreadyUndone?: boolean
  readonly files: readonly { readonly path: string; readonly action: 'restore' | 'remove' | 'recreate' }[]
  /** Files that would lose later changes, or that cannot be put back. Without `force` the undo is refused. */
  readonly lost: readonly { readonly path: string; readonly reason: string }[]
  /** Commands of the selected calls whose changes are not recorded. What they did is not undone. */
  readonly commands: readonly { readonly call: string; readonly command: string }[]
  /** Calls whose tool reverts effects outside of files. */
  readonly reverts: readonly { readonly call: string; readonly tool: string }[]
  /** Only of a dry run. */
  readonly diff?: string
  /** Folders that stay because they have other content. */
  readonly notEmpty?: readonly string[]
  /** Calls whose tool could not revert its effects. */
  readonly failed?: readonly { readonly call: string; readonly tool: string; readonly message: string }[]
}

/** `fs` of the bundled tool `undo`. The broker refuses every other tool. */
export interface FileUndo {
  undo(request: UndoRequest): Promise<UndoReport>
}

export interface SelectedChanges {
  /** Oldest first. */
  readonly selected: readonly RecordedChange[]
  /** All changes of the workspace since the first of the session. */
  readonly all: readonly RecordedChange[]
  /** Whether earlier undos have put back everything of it that can be put back. */
  readonly isUndone: boolean
}

/** The changes that a call may undo: those of its session. */
export interface UndoAccess {
  /** Rejects with NotFound. */
  select(callId: string, selection: UndoSelection): Promise<SelectedChanges>
  content(digest: string): Promise<Uint8Array | undefined>
  /** Calls `revert` of the tool, as a call of the session. */
  revert(callId: string, effect: RecordedChange): Promise<Outcome>
}
