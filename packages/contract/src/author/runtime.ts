import type { FormOptions, FormSchema, FormValues } from '@bulkhead/kit/form'
import type { Json } from '@bulkhead/kit/json'
import type { InteractionOption } from '../model/interaction.ts'
import type { Outcome } from '../model/outcome.ts'
import type { RequirementSet } from '../validation/requirements.ts'
import type { FileReader, FileWriter } from './runtime-files.ts'

export type {
  AppliedUpdate, DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileUpdate, FileWatch,
  FileWriter, FindOptions, LineFound, LinesFound, ReadRange, SearchOptions,
} from './runtime-files.ts'

/** What every call has. */
export interface BaseRuntime {
  readonly callId: string
  readonly toolName: string
  readonly call: {
    /**
     * Does not change when the call runs again, so that a service can tell a repetition. It is that of the caller, or
     * made from the ids of its session and itself.
     */
    readonly idempotencyKey: string
  }
  /**
   * Runs a part of the call, and keeps what it returns, as JSON, until the call has ended. A call that continues after
   * a question, after an attempt that failed, or with the same idempotency key after its host has ended, gets the kept
   * result and does not run the step again. Steps run one after the other, and each has its own name. Do in steps what
   * must not happen twice.
   */
  step<Result>(name: string, work: () => Result | Promise<Result>): Promise<Result>
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
   * For bundled tools: the requested command, if the tool runs another form of it, or all commands of a line that a
   * shell runs. Ceilings check these commands. Ignored for other tools.
   */
  readonly as?: CommandAs | readonly CommandAs[]
}
/** A command as the caller of a tool wrote it. */
export interface CommandAs {
  readonly cmd: string
  readonly args: readonly string[]
}
/** What stands around a command, the narrowest first. */
export type CommandWallName = 'look' | 'work' | 'open'
export interface PipeOptions {
  readonly cwd?: string
  /**
   * After this time the commands are killed, or do not start if they still wait; the result has their output so far.
   */
  readonly timeoutMs?: number
  /**
   * Isolation by the operating system. `look`: no writing, no network, and no files with credentials or variables.
   * `work`: writing to the workspace only, and no network except `hosts`. Both see the system, programs on PATH, and
   * what the operator names, and have a private folder as their home. Where the system does not support it, the
   * commands run without, unless `sandbox.os` is `require`. `open`, the default: none. A wall that the host chose for
   * the call takes precedence, and commands of third-party tools run behind `work`. `isolated` adds: no network, and no
   * folders except the workspace and those of the system's programs.
   */
  readonly wall?: CommandWallName
  /** For `work`: the hosts that the commands may reach. `all`: the whole network. Default: none. */
  readonly hosts?: readonly string[] | 'all'
  readonly isolated?: boolean
  /** Whether to suppress live output. */
  readonly quiet?: boolean
  /**
   * For bundled tools: whether the file of a long result gets all output, or that of stderr. The result then has the
   * head and the tail.
   */
  readonly save?: boolean | 'stderr'
}
export interface PipeResult {
  /** One per command, in order. */
  readonly exits: readonly Pick<ShellResult, 'exitCode' | 'signal'>[]
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
  /** The wall that stood around the commands. Absent: none. */
  readonly wall?: 'look' | 'work'
  /**
   * Why files that stderr names were hidden from the commands, each as the subject of a sentence. Absent: none were.
   */
  readonly hiddenBy?: readonly string[]
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
  SecretName extends string = never, Config = never,
> =
  & BaseRuntime
  & FsPart<Requires extends { readonly fs: infer Fs } ? Fs : undefined>
  & (Requires extends { readonly net: { readonly hosts: infer Hosts } } ? Has<Hosts, { readonly net: Net }> : unknown)
  & (Requires extends { readonly shell: infer Commands } ? Has<Commands, { readonly shell: Shell }> : unknown)
  & (Requires extends { readonly capabilities: readonly (infer Name)[] } ? CapabilityPart<Name> : unknown)
  & ([EnvName] extends [never] ? unknown : { readonly env: Env<EnvName> })
  & ([SecretName] extends [never] ? unknown : { readonly secrets: Secrets<SecretName> })
  & ([Slot] extends [never] ? unknown : { readonly state: State<Slot> })
  & ([Config] extends [never] ? unknown : { readonly config: Config })

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
  /** The configuration of the extension. */
  readonly config?: object
}
