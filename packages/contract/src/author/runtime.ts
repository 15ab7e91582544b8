import type { FormOptions, FormSchema, FormValues } from '@bulkhead/kit/form'
import type { Json } from '@bulkhead/kit/json'
import type { InteractionOption } from '../model/interaction.ts'
import type { Outcome } from '../model/outcome.ts'
import type { RequirementSet } from '../validation/requirements.ts'

/** What every call has. */
export interface BaseRuntime {
  readonly callId: string
  readonly toolName: string
  /** Aborted if the call, its turn or its session is cancelled, or the deadline passes. */
  readonly signal: AbortSignal
  /** A message for the user. */
  progress(text: string): void
  /** A partial result for programs; models do not see it. */
  update(partial: Json): void
  readonly log: Log
}

export interface Log {
  debug(text: string): void
  info(text: string): void
  warn(text: string): void
  error(text: string): void
}

export interface FileStat {
  readonly kind: 'file' | 'directory'
  readonly size: number
  readonly modifiedMs: number
}
export interface DirectoryEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'other'
}
export interface ReadRange {
  /** First byte, from 0. */
  readonly start?: number
  /** The byte after the last one. */
  readonly end?: number
}

/** Paths are relative to the workspace, or absolute inside the grant. */
export interface FileReader {
  read(path: string, range?: ReadRange): Promise<Uint8Array>
  readText(path: string, range?: ReadRange): Promise<string>
  list(path: string): Promise<readonly DirectoryEntry[]>
  stat(path: string): Promise<FileStat>
  /**
   * Regular files below `path` (default: the workspace) whose relative path matches: `*` stays inside one name, `**`
   * crosses folders, `{a,b}` is either, everything else is literal. Finds only files inside the grant, does not follow
   * links, and sorts by name, folder by folder. `limit` is the maximum number of results.
   */
  glob(pattern: string, options?: { readonly path?: string; readonly limit?: number }): Promise<readonly string[]>
  /**
   * Regular files below `path` whose relative path matches, newest first. As `glob`; in addition `?` is one character
   * and `[ab]` is one of these characters or the literal brackets. Skips ignored files and the folders of version
   * control.
   */
  find(pattern: string, options?: { readonly path?: string; readonly limit?: number }): Promise<FilesFound>
  /** Lines of text files that match a regular expression in ripgrep's syntax. Skips binary and ignored files. */
  search(pattern: string, options?: SearchOptions): Promise<LinesFound>
  /** Changes of a file, or of everything below a folder, until the call ends or the reader stops. */
  watch(path: string): FileWatch
}
export interface FilesFound {
  readonly paths: readonly string[]
  /** How many there are, including those beyond the limit. */
  readonly total: number
}
export interface SearchOptions {
  /** A folder, or one file. Default: the workspace. */
  readonly path?: string
  /** Only files whose relative path matches; a pattern without a slash matches the name. */
  readonly glob?: string
  /** Only files of this ripgrep type, such as ts or py. */
  readonly type?: string
  readonly ignoreCase?: boolean
  /** Lines of context around each match. */
  readonly context?: number
  /** Whether a match may span lines and `.` matches a line break. */
  readonly multiline?: boolean
  /** The matching lines, or the number of matches per file. Default: lines. */
  readonly want?: 'lines' | 'counts'
  /** Maximum number of matches, or files, in the order of their paths. */
  readonly limit?: number
}
export interface LineFound {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Set if the line was cut. */
  readonly cut?: true
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}
export interface LinesFound {
  readonly matches: readonly LineFound[]
  readonly counts: readonly { readonly path: string; readonly count: number }[]
  /** How many lines match, including those beyond the limit. */
  readonly total: number
  /** How many files have a match. */
  readonly files: number
  /** How many files and folders could not be read. */
  readonly unread: number
}
export interface FileChange {
  readonly path: string
  readonly change: 'created' | 'changed' | 'removed'
}
/** Can be iterated once. Changes to one path that are not read yet are merged. */
export interface FileWatch extends AsyncIterable<FileChange> {
  /** Resolves when the watch is active. */
  readonly started: Promise<void>
}
export interface FileWriter {
  /** Atomic. Creates missing folders if the grant covers them. */
  write(path: string, content: string | Uint8Array): Promise<{ readonly bytes: number; readonly created: boolean }>
  /**
   * Replaces a string that occurs exactly once, or all occurrences. Other bytes stay unchanged. In a file with CRLF
   * line ends, both strings get CRLF too. Edits of one file run one after another. The tool must also be allowed to
   * read the file.
   */
  edit(path: string, oldText: string, newText: string, options?: { readonly all?: boolean }): Promise<Edited>
  /** Removes a file or an empty folder. */
  remove(path: string): Promise<void>
}

export interface Edited {
  readonly replacements: number
  /** A unified diff of the change. */
  readonly diff: string
}
export interface NetRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly redirect?: 'follow' | 'manual'
}
export interface NetResponse {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  json(): Promise<Json>
  bytes(): Promise<Uint8Array>
}
export interface Net {
  fetch(url: string, request?: NetRequest): Promise<NetResponse>
}
export interface ShellResult {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** Whether the output was cut. */
  readonly truncated: boolean
}
export interface Shell {
  run(
    cmd: string, args?: readonly string[], options?: { readonly cwd?: string; readonly input?: string },
  ): Promise<ShellResult>
  /** A pipeline: each command reads the output of the one before it. All start at once. */
  pipe(stages: readonly ShellStage[], options?: PipeOptions): Promise<PipeResult>
}

/**
 * Where an output goes. `out`: the next command of a pipe, or the result's stdout. `err`: the result's stderr. A file
 * must be writable for the tool, and is truncated first unless `append` is set.
 */
export type ShellTarget = 'out' | 'err' | 'nothing' | { readonly path: string; readonly append?: boolean }
export interface ShellStage {
  readonly cmd: string
  readonly args?: readonly string[]
  /** The input of the first command: a string, or a file that the tool may read. Absent: none. */
  readonly input?: string | { readonly path: string }
  /** Default: `out`. */
  readonly stdout?: ShellTarget
  /** Default: `err`. */
  readonly stderr?: ShellTarget
  /**
   * For bundled tools: the requested command, if the tool runs a safer form of it. Ceilings check this command. Ignored
   * for other tools.
   */
  readonly as?: { readonly cmd: string; readonly args: readonly string[] }
}
export interface PipeOptions {
  readonly cwd?: string
  /** After this time the commands are killed; the result has their output so far. */
  readonly timeoutMs?: number
  /**
   * Isolation by the operating system. `read`: no writing and no network. `work`: writing to the workspace only. Where
   * the system does not support it, the commands run without, unless `sandbox.os` is `require`. `isolated` adds: no
   * network, and no folders except the workspace and those of the system's programs.
   */
  readonly wall?: 'read' | 'work'
  readonly isolated?: boolean
  /** Whether to suppress live output. */
  readonly quiet?: boolean
}
export interface PipeResult {
  /** One per command, in order. */
  readonly exits: readonly Pick<ShellResult, 'exitCode' | 'signal'>[]
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
}

export interface Env<Name extends string = string> {
  /** Rejects with EnvNameNotSet if the variable has no value. */
  get(name: Name): Promise<string>
}

export interface Secrets<Name extends string = string> {
  /**
   * A placeholder for a header value or the query of `net.fetch`, or for an argument or the input of `shell.run`, for a
   * host or command that the manifest names for the secret. The host inserts the value, then encodes a header
   * `Basic user:placeholder`. Code never sees the value. Valid for this call. Rejects with EnvNameNotSet without one.
   */
  handle(name: Name): Promise<string>
}

export interface State<Data = Json> {
  /** null if nothing was written yet. */
  read(): Promise<Data | null>
  write(data: Data): Promise<void>
}

export interface Interact {
  ask(prompt: string): Promise<string>
  confirm(prompt: string): Promise<boolean>
  select(prompt: string, options: readonly InteractionOption[]): Promise<string>
  selectMany(prompt: string, options: readonly InteractionOption[]): Promise<readonly string[]>
  /** Asks for several values at once, or field by field where no form can be shown. Empty fields are absent. */
  form(prompt: string, schema: FormSchema, options?: FormOptions): Promise<FormValues>
  deviceCode(request: { readonly url: string; readonly code: string; readonly expiresAt: string }): Promise<void>
  password(prompt: string): Promise<string>
}

export interface Tools {
  /** Calls another tool. Both tools must have the permissions. */
  call(name: string, args: Json): Promise<Outcome>
}

/** Data of one session for this extension. It is deleted with the session; other sessions do not see it. */
export interface SessionMemory<Data = Json> {
  id(): Promise<string>
  /** null if nothing was written yet. */
  read(): Promise<Data | null>
  write(data: Data): Promise<void>
}

type Has<Part, Yes> = Part extends readonly unknown[] ? Yes : unknown

/**
 * The runtime of one tool: exactly what its requirements give. Using anything else does not compile. At run time,
 * reading an absent part throws CapabilityDenied with what to declare, and the broker of the host would deny it.
 */
export type Runtime<
  Requires extends RequirementSet = RequirementSet, EnvName extends string = never, Slot = never,
  SecretName extends string = never,
> =
  & BaseRuntime
  & FsPart<Requires extends { readonly fs: infer Fs } ? Fs : undefined>
  & (Requires extends { readonly net: { readonly hosts: infer Hosts } } ? Has<Hosts, { readonly net: Net }> : unknown)
  & (Requires extends { readonly shell: infer Commands } ? Has<Commands, { readonly shell: Shell }> : unknown)
  & (Requires extends { readonly capabilities: readonly (infer Name)[] } ? CapabilityPart<Name> : unknown)
  & ([EnvName] extends [never] ? unknown : { readonly env: Env<EnvName> })
  & ([SecretName] extends [never] ? unknown : { readonly secrets: Secrets<SecretName> })
  & ([Slot] extends [never] ? unknown : { readonly state: State<Slot> })

type FsPart<Fs> = Fs extends object
  ? {
    readonly fs:
      & (Fs extends { readonly read: readonly unknown[] } ? FileReader : unknown)
      & (Fs extends { readonly write: readonly unknown[] } ? FileWriter : unknown)
  }
  : unknown

type CapabilityPart<Name> =
  & ('interact' extends Name ? { readonly interact: Interact } : unknown)
  & ('tools.call' extends Name ? { readonly tools: Tools } : unknown)
  & ('session' extends Name ? { readonly session: SessionMemory } : unknown)

/** The runtime with every part. Parts that were not granted are absent: check with `in`, because reading one throws. */
export interface AnyRuntime extends BaseRuntime {
  readonly fs?: Partial<FileReader & FileWriter>
  readonly net?: Net
  readonly shell?: Shell
  readonly env?: Env
  readonly secrets?: Secrets
  readonly state?: State
  readonly interact?: Interact
  readonly tools?: Tools
  readonly session?: SessionMemory
}
