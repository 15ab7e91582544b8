import type { InteractionOption } from '../model/interaction.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Outcome } from '../model/outcome.ts'
import type { RequirementSet } from '../policy/requirements.ts'

/** What every call is given, whatever its tool requires. */
export interface BaseRuntime {
  readonly callId: string
  readonly toolName: string
  /** Aborted when the call, its turn or its session is cancelled, or its deadline has passed. */
  readonly signal: AbortSignal
  /** Text for the person who waits. */
  progress(text: string): void
  /** A partial result for whoever watches; models do not see it. */
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
  /** Byte after the last. */
  readonly end?: number
}

/** Paths are relative to the workspace, or absolute inside the grant. */
export interface FileReader {
  read(path: string, range?: ReadRange): Promise<Uint8Array>
  readText(path: string, range?: ReadRange): Promise<string>
  list(path: string): Promise<readonly DirectoryEntry[]>
  stat(path: string): Promise<FileStat>
  /**
   * Regular files below `path` (default: the workspace) whose path from there is matched: `*` stays inside one name, `**`
   * crosses folders, `{a,b}` is either, everything else is literal. Only what the grant covers is found, links are not
   * followed, and the order is that of the names, folder by folder. With `limit`, the first so many.
   */
  glob(pattern: string, options?: { readonly path?: string; readonly limit?: number }): Promise<readonly string[]>
  /**
   * Regular files below `path` whose path from there is matched, newest first. As `glob`, and besides `?` is one character and
   * `[ab]` one of these, or the brackets themselves. What ignore files name and what version control keeps is left out.
   */
  find(pattern: string, options?: { readonly path?: string; readonly limit?: number }): Promise<FilesFound>
  /** Lines of text files that a regular expression of ripgrep's kind matches; binary files and ignored ones are left out. */
  search(pattern: string, options?: SearchOptions): Promise<LinesFound>
  /** What becomes of a file, or of everything below a folder, until the call ends or the reader stops. */
  watch(path: string): FileWatch
}
export interface FilesFound {
  readonly paths: readonly string[]
  /** How many there are, those beyond the limit too. */
  readonly total: number
}
export interface SearchOptions {
  /** A folder, or one file. Default: the workspace. */
  readonly path?: string
  /** Only files with such a path below it; a pattern without a slash is of the name alone. */
  readonly glob?: string
  /** Only files of a type that ripgrep knows, such as ts or py. */
  readonly type?: string
  readonly ignoreCase?: boolean
  /** Lines to show around each match. */
  readonly context?: number
  /** Whether a match may cross lines and `.` is the end of one too. */
  readonly multiline?: boolean
  /** What is wanted: the lines, or for each file how many there are. Default: lines. */
  readonly want?: 'lines' | 'counts'
  /** Matches, or files, in the answer: the first in the order of their paths. */
  readonly limit?: number
}
export interface LineFound {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Set when the line is longer than what is shown of it. */
  readonly cut?: true
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}
export interface LinesFound {
  readonly matches: readonly LineFound[]
  readonly counts: readonly { readonly path: string; readonly count: number }[]
  /** How many lines match, those beyond the limit too. */
  readonly total: number
  /** How many files have such a line. */
  readonly files: number
  /** How many files and folders could not be read, and are not searched for that. */
  readonly unread: number
}
export interface FileChange {
  readonly path: string
  readonly change: 'created' | 'changed' | 'removed'
}
/** To be read once. Changes to one path that come before they are read are told as one. */
export interface FileWatch extends AsyncIterable<FileChange> {
  /** Resolves when everything from here on is seen. */
  readonly started: Promise<void>
}
export interface FileWriter {
  /** In one step: nobody sees half of it. Folders that are missing on the way are made where the grant covers them too. */
  write(path: string, content: string | Uint8Array): Promise<{ readonly bytes: number; readonly created: boolean }>
  /**
   * Replaces a text that occurs exactly once, or every occurrence. What is not replaced keeps its bytes, whatever they are; where
   * the lines of a file end in CRLF, so do those of both texts. Changes to one file come one after the other. The tool must be
   * one that may read the file as well.
   */
  edit(path: string, oldText: string, newText: string, options?: { readonly all?: boolean }): Promise<Edited>
  /** A file, or a folder that is empty. */
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
  /** Whether output was longer than what is kept of it. */
  readonly truncated: boolean
}
export interface Shell {
  run(cmd: string, args?: readonly string[], options?: { readonly cwd?: string; readonly input?: string }): Promise<ShellResult>
  /** Commands of which each reads what the one before it writes, all started at once. */
  pipe(stages: readonly ShellStage[], options?: PipeOptions): Promise<PipeResult>
}

/**
 * Where an output goes: `out` is the next command of a pipe, or the result's stdout; `err` the result's stderr; a file must
 * be one that the tool may write, and is emptied first unless it is appended to.
 */
export type ShellTarget = 'out' | 'err' | 'nothing' | { readonly path: string; readonly append?: boolean }
export interface ShellStage {
  readonly cmd: string
  readonly args?: readonly string[]
  /** What the first command reads: a text, or a file that the tool may read. Absent: nothing. */
  readonly input?: string | { readonly path: string }
  /** `out` unless given. */
  readonly stdout?: ShellTarget
  /** `err` unless given. */
  readonly stderr?: ShellTarget
  /**
   * Of a tool that ships with the host: the command it was asked for, where it runs that one in a safer form. Ceilings judge this
   * one. Of every other tool it is not read.
   */
  readonly as?: { readonly cmd: string; readonly args: readonly string[] }
}
export interface PipeOptions {
  readonly cwd?: string
  /** After so many ms the commands are made to end; what they had written is in the result. */
  readonly timeoutMs?: number
  /**
   * Has the system hold the commands where it can: `read` lets them write nothing and reach no network, `work` lets them
   * write to the workspace alone. Where it cannot, they run without, unless `sandbox.os` is `require`.
   */
  readonly wall?: 'read' | 'work'
  /** Whoever watches the call does not see what they write while they run. */
  readonly quiet?: boolean
}
export interface PipeResult {
  /** Of each command, in order. */
  readonly exits: readonly Pick<ShellResult, 'exitCode' | 'signal'>[]
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
}

export interface Env<Name extends string = string> {
  /** Rejects with EnvNameNotSet when the variable has no value here. */
  get(name: Name): Promise<string>
}

export interface Secrets<Name extends string = string> {
  /**
   * A text to put where the secret belongs: into the value of a header of `net.fetch` to a host, or into an argument or the
   * input of `shell.run` of a command, that the manifest names for it. The host puts the value in its place; code never
   * has it. It holds for this call. Rejects with EnvNameNotSet when the secret has no value here.
   */
  handle(name: Name): Promise<string>
}

export interface State<Data = Json> {
  /** null when nothing was written yet. */
  read(): Promise<Data | null>
  write(data: Data): Promise<void>
}

export interface Interact {
  ask(prompt: string): Promise<string>
  confirm(prompt: string): Promise<boolean>
  select(prompt: string, options: readonly InteractionOption[]): Promise<string>
  selectMany(prompt: string, options: readonly InteractionOption[]): Promise<readonly string[]>
  deviceCode(request: { readonly url: string; readonly code: string; readonly expiresAt: string }): Promise<void>
  password(prompt: string): Promise<string>
}

export interface Tools {
  /** Another tool, under the permissions both tools have. */
  call(name: string, args: Json): Promise<Outcome>
}

/** What one session keeps of this extension. It is gone with the session, and no other sees it. */
export interface SessionMemory<Data = Json> {
  id(): Promise<string>
  /** null when nothing was written yet. */
  read(): Promise<Data | null>
  write(data: Data): Promise<void>
}

type Has<Part, Yes> = Part extends readonly unknown[] ? Yes : unknown

/**
 * The runtime of one tool: exactly what its requirements give. Reaching for anything else does not compile; at run time it is not
 * there, reading it throws CapabilityDenied with what to declare, and the broker on the host's side would refuse it.
 */
export type Runtime<Requires extends RequirementSet = RequirementSet, EnvName extends string = never, Slot = never, SecretName extends string = never> =
  & BaseRuntime
  & FsPart<Requires extends { readonly fs: infer Fs } ? Fs : undefined>
  & (Requires extends { readonly net: { readonly hosts: infer Hosts } } ? Has<Hosts, { readonly net: Net }> : unknown)
  & (Requires extends { readonly shell: infer Commands } ? Has<Commands, { readonly shell: Shell }> : unknown)
  & (Requires extends { readonly capabilities: readonly (infer Name)[] } ? CapabilityPart<Name> : unknown)
  & ([EnvName] extends [never] ? unknown : { readonly env: Env<EnvName> })
  & ([SecretName] extends [never] ? unknown : { readonly secrets: Secrets<SecretName> })
  & ([Slot] extends [never] ? unknown : { readonly state: State<Slot> })

type FsPart<Fs> = Fs extends object
  ? { readonly fs: (Fs extends { readonly read: readonly unknown[] } ? FileReader : unknown) & (Fs extends { readonly write: readonly unknown[] } ? FileWriter : unknown) }
  : unknown

type CapabilityPart<Name> =
  & ('interact' extends Name ? { readonly interact: Interact } : unknown)
  & ('tools.call' extends Name ? { readonly tools: Tools } : unknown)
  & ('session' extends Name ? { readonly session: SessionMemory } : unknown)

/** The runtime with every part, as it is built. Those that were not granted are absent: ask with `in`, for reading one throws. */
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

