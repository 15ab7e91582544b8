import type { JsonObject } from '@bulkhead/kit/json'

/** One thing that a call would do. */
export interface CallSubject {
  /** What an approval or an allow rule refers to. A wide key covers only uses that are known to be alike. */
  readonly key: string
  /**
   * Other names of the same thing. Rules that deny or ask match any of them; rules that allow match only the key.
   * Absent for a key that is a path or a host.
   */
  readonly names?: readonly string[]
  /** Wider keys, nearest first. An approval of one of them covers this one. */
  readonly within?: readonly string[]
}

/** One thing that a call cannot do without. */
export interface CallNeed {
  readonly kind: 'fs.read' | 'fs.write' | 'net' | 'shell'
  /** An absolute path, a host with its port, or the name of a program. */
  readonly subject: string
  /** Set for a folder that is searched: access to anything below it is enough. */
  readonly below?: true
  /** The arguments of a program, if known. */
  readonly args?: readonly string[]
}

/** What the arguments of a call mean, found by reading them only. */
export interface ArgumentsReading {
  /** The key for an approval of the whole call. */
  readonly key: string
  /** Everything the call would do. An allow must cover all of them; a deny of one denies the call. */
  readonly subjects: readonly CallSubject[]
  /** What the call would touch, one line each, for the person who is asked. */
  readonly touches: readonly string[]
  /** Why a person is asked even if rules allow the call. `fresh`: even if the same was approved before. */
  readonly asks: readonly { readonly reason: string; readonly fresh: boolean }[]
  /** Why the call is always denied. */
  readonly denies: readonly string[]
  /** Whether the call only reads inside the workspace. Then a bundled tool runs without approval. */
  readonly onlyReads?: boolean
  /** What the call needs. A ceiling that forbids one of these denies the call before a person is asked. */
  readonly needs?: readonly CallNeed[]
  /** What rules on files and hosts apply to, for a bundled tool. Absent: everything the tool may do. */
  readonly effects?: CallEffects
}

/** What a call would do with files and the network. An absent field is unknown. */
export interface CallEffects {
  readonly reads?: readonly AffectedPath[]
  readonly writes?: readonly AffectedPath[]
  /** The call reaches no host. */
  readonly net?: false
}

export interface AffectedPath {
  /** Absolute, without `..`. It may contain links. */
  readonly path: string
  /** Whether everything below it is included. */
  readonly below: boolean
}

export interface ReaderContext {
  /** The canonical path of {workspace}. */
  readonly workspace: string
  /** Canonical folders that no tool may write. */
  readonly neverWritten?: readonly string[]
}

/**
 * Reads the arguments of a tool with a locked name for the host, also if a third party implements the tool: the code
 * that runs a call does not describe it. Contract: pure and quick. A throw denies the call.
 */
export type ArgumentsReader = (args: JsonObject, context: ReaderContext) => ArgumentsReading
