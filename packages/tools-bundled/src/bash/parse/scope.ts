import type { Word as WordNode } from 'unbash'
import type { MadeWord } from './plan.ts'

/** Which forms count where a text is read. */
export interface Scope {
  /** Whether forms count that mean the same without a shell only while nothing but reading happens. */
  readonly reading: boolean
  /** A word that is made while it runs; undefined for any other, and where no such forms count. */
  readonly make: (node: WordNode) => MadeWord | undefined
  /** The same inside a loop over this variable. */
  readonly inLoop: (name: string) => Scope
}

/** What means the same without a shell in every case. */
export const PLAIN: Scope = { reading: false, make: () => undefined, inLoop: () => PLAIN }
