import type { BulkheadError } from '../model/errors.ts'
import type { RuleCapability } from '../model/names.ts'

/** One path, host or command that a call uses. */
export interface CallUse {
  readonly capability: RuleCapability
  /** An absolute path, a host with its port, or a command line. */
  readonly subject: string
}

/** A rule that denies a use, or asks about it. */
export interface UseVerdict {
  readonly action: 'deny' | 'ask'
  /** The rule, as the subject of a sentence. An answer holds for everything that this rule matches in the call. */
  readonly rule: string
}

/** Which paths rules deny, for the walls around commands and servers. The same object as long as the rules are. */
export interface DeniedPaths {
  /** The rule that denies the path, as the subject of a sentence. */
  ruleFor(capability: 'fs.read' | 'fs.write', path: string): string | undefined
  /** Whether a rule allows something inside of what another denies: then a denied folder has to be looked into. */
  readonly hasExceptions: boolean
  /** Absolute paths without wildcards that rules name, each with everything below it. */
  readonly places: readonly string[]
  /**
   * One of the rules, for a command that no wall can keep from what they deny. Absent if their patterns may as well be
   * the text of commands: then a command without a wall runs.
   */
  readonly rule?: string | undefined
}

/** What ignore files exclude, which no tool, command or server reads or writes. The same object until one changes. */
export interface IgnoredFiles {
  /** Why a path is excluded, as the subject of a sentence. An ignore file itself is not written. */
  lineFor(capability: 'fs.read' | 'fs.write', path: string): string | undefined
  readonly files: readonly {
    readonly path: string
    /** Why it cannot be understood, as the end of a sentence. Then it excludes everything in its folder. */
    readonly fault?: string
  }[]
}

/**
 * The rules that may deny what a call uses, or ask about it. The host makes them for one call. Absent: no rule can, so
 * nothing is checked.
 */
export interface UseRules {
  /** undefined if the use is allowed. A rule that was answered with yes in this call does not ask again. */
  judge(capability: RuleCapability, subject: string): UseVerdict | undefined
  /** Asks a person about one rule once. The time of the call stops meanwhile. Rejects with ApprovalDenied. */
  ask(use: CallUse, verdict: UseVerdict): Promise<void>
  /** The error of a denied use, which is recorded. */
  deny(use: CallUse, verdict: UseVerdict): BulkheadError
  /** What rules ask about, as patterns: asked before a command starts that could use it. */
  readonly asked: readonly (CallUse & { readonly verdict: UseVerdict })[]
  readonly deniedPaths?: DeniedPaths | undefined
  /** A rule that denies hosts, as the subject of a sentence: no command gets the whole network. */
  readonly deniesHosts?: string | undefined
}
