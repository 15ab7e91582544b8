import type { JsonObject } from './json.ts'

/** One thing a call would do. */
export interface CallSubject {
  /** What an approval or an allow speaks of. A wide key stands only for uses that are known to be alike. */
  readonly key: string
  /** Every name it goes by, the key not among them: what forbids it, or wants it asked, may mean any of these. */
  readonly names: readonly string[]
}

/** What the arguments of a call mean, found out by reading them and nothing else. */
export interface ArgumentsReading {
  /** What an approval of the whole call stands for. */
  readonly key: string
  /** All that it would do: what is allowed must be allowed for each of them, and what is denied for one is denied. */
  readonly subjects: readonly CallSubject[]
  /** Why a person is asked whatever rules allow. `fresh`: also when the same was approved before. */
  readonly asks: readonly { readonly reason: string; readonly fresh: boolean }[]
  /** Why it is never done. */
  readonly denies: readonly string[]
}

export interface ReaderContext {
  /** The canonical path {workspace} stands for. */
  readonly workspace: string
}

/**
 * Reads the arguments of the tool of one locked name for the host, whoever implements that name: what a call stands for is
 * not told by the code that will run it. Contract: pure and quick. A throw refuses the call.
 */
export type ArgumentsReader = (args: JsonObject, context: ReaderContext) => ArgumentsReading
