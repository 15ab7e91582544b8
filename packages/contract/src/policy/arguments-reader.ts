import type { JsonObject } from '@bulkhead/kit/json'

/** One thing a call would do. */
export interface CallSubject {
  /** What an approval or an allow speaks of. A wide key stands only for uses that are known to be alike. */
  readonly key: string
  /**
   * Every name it goes by, the key not among them: what forbids it, or wants it asked, may mean any of these. Absent for a key
   * that is a path or a host, by which rules name it.
   */
  readonly names?: readonly string[]
  /** Wider keys, from the nearest: an approval of one of these is one of this too. */
  readonly within?: readonly string[]
}

/** One thing that a call cannot do without. */
export interface CallNeed {
  readonly kind: 'fs.read' | 'fs.write' | 'net' | 'shell'
  /** An absolute path, a host with its port, or the name of a program. */
  readonly subject: string
  /** Of a folder that is searched: something below it is enough. */
  readonly below?: true
  /** Of a program: what it is given, where that is known. */
  readonly args?: readonly string[]
}

/** What the arguments of a call mean, found out by reading them and nothing else. */
export interface ArgumentsReading {
  /** What an approval of the whole call stands for. */
  readonly key: string
  /** All that it would do: what is allowed must be allowed for each of them, and what is denied for one is denied. */
  readonly subjects: readonly CallSubject[]
  /** What it would touch, one line each, for whoever is asked. */
  readonly touches: readonly string[]
  /** Why a person is asked whatever rules allow. `fresh`: also when the same was approved before. */
  readonly asks: readonly { readonly reason: string; readonly fresh: boolean }[]
  /** Why it is never done. */
  readonly denies: readonly string[]
  /**
   * Whether the call does nothing but read inside the workspace, in whatever state that is. Then nobody is asked, where it is the
   * tool that ships with the host.
   */
  readonly onlyReads?: boolean
  /** What it is known to need: under a ceiling that does not allow one of these, it is refused before anybody is asked. */
  readonly needs?: readonly CallNeed[]
  /** By what rules on files and hosts judge the call, where it is the tool that ships with the host. Absent: by what the tool may do. */
  readonly effects?: CallEffects
}

/** What a call would do with files and the network. What is absent is not known. */
export interface CallEffects {
  readonly reads?: readonly AffectedPath[]
  readonly writes?: readonly AffectedPath[]
  /** It reaches no host. */
  readonly net?: false
}

export interface AffectedPath {
  /** Absolute, without `..`. Links in it may lead elsewhere. */
  readonly path: string
  /** Whether all below it is meant too. */
  readonly below: boolean
}

export interface ReaderContext {
  /** The canonical path {workspace} stands for. */
  readonly workspace: string
  /** Canonical folders that are never written for a tool. */
  readonly neverWritten?: readonly string[]
}

/**
 * Reads the arguments of the tool of one locked name for the host, whoever implements that name: what a call stands for is
 * not told by the code that will run it. Contract: pure and quick. A throw refuses the call.
 */
export type ArgumentsReader = (args: JsonObject, context: ReaderContext) => ArgumentsReading
