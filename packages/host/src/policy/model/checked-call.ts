import type {
  AffectedPath, AgentManifest, CallEffects, CallNeed, CallSubject, CommandReading, CommandWall, PreviewedWrites,
  Principal, RuleCapability,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { ToolEntry } from '../../extensions/registry/tool-entry.ts'
import type { CallView } from '../../model/hooks.ts'
import type { Verdict } from './verdict.ts'

/** What a policy sees of a call whose arguments are validated. It sees no session, so no policy depends on another. */
export interface CheckedCall {
  readonly id: string
  readonly session: {
    readonly id: string; readonly agent?: AgentManifest | undefined; readonly principal?: Principal | undefined
  }
  readonly tool: ToolEntry
  readonly args: JsonObject
  readonly signal: AbortSignal
  throwIfCancelled(): void
}

/** Frozen: several hooks and guards get the same one. */
export const viewOf = (call: CheckedCall, approvalKey: string): CallView => Object.freeze({
  sessionId: call.session.id, callId: call.id, tool: call.tool.definition, origin: call.tool.origin,
  arguments: call.args, args: call.args, approvalKey, ...(call.session.agent && { agent: call.session.agent }),
  ...(call.session.principal && { principal: call.session.principal }),
})

/** One thing that a call would do: the key that an approval covers, and other names that rules may forbid it by. */
export interface Subject {
  readonly key: string
  readonly names?: readonly string[]
  /** Wider keys, from the nearest: an approval of one of them covers this key too. */
  readonly within?: readonly string[]
  /** What rules and the allowlist name it by, if that differs from the key of an approval. */
  readonly plain?: string
  /** Set for what a wall lets through, such as a host: no command. */
  readonly ofWall?: true
  /** Set for a key that has names and is no command, such as that of an action. */
  readonly ofAction?: true
  /** The file or folder that the key names, by its absolute path. */
  readonly place?: NonNullable<CallSubject['place']>
  /** Whether an approval of a folder does not cover it. Follows links. */
  readonly isHeldBack?: () => boolean
}

/** A path that the arguments of a call name. */
export interface NamedPath extends AffectedPath {
  readonly capability: RuleCapability
  /** Where its links lead. */
  readonly real?: string
  /** The manifest of the tool says so, and not a reader of the host. */
  readonly isClaim?: true
}

/** What a call would do, as far as its arguments tell. */
export interface CallAnalysis {
  /** The key of the whole call. */
  readonly approvalKey: string
  /** Each must be allowed if the whole is not approved. */
  readonly subjects: readonly Subject[]
  /** Verdicts that follow from the arguments alone. */
  readonly verdicts: readonly Verdict[]
  /** What it would touch, one line each. Empty if only the tool knows. */
  readonly touches: readonly string[]
  /**
   * It only reads inside the workspace: what asks because of the tool alone does not ask. `unwalled`: as far as its
   * words tell, but it would run without a file wall, so that it asks. `reveals`: it reads a file with credentials or
   * variables, so that it asks.
   */
  readonly onlyReads?: true | 'unwalled' | 'reveals'
  /** For a tool that runs commands: what its arguments say about them. */
  readonly command?: CommandReading
  /** The wall around its commands. Absent if the tool chooses, or if a command is simple enough to need none. */
  readonly wall?: CommandWall
  /** For another tool that always starts commands: the wall that it chooses. */
  readonly startsBehind?: 'look' | 'work'
  /** Third-party code derived the key: an approval of it lasts for the session at most. */
  readonly keyByTool?: true
  /** What it is known to need. Absent if only the tool knows. */
  readonly needs?: readonly CallNeed[]
  /** What it would write, for the person who is asked. */
  readonly writes?: PreviewedWrites
  /** What it would do with files and the network, links followed. Computed when a rule needs it. */
  readonly effects?: (() => CallEffects) | undefined
  /** The paths that its arguments name, as far as the host reads them. Others are possible. */
  readonly named?: () => readonly NamedPath[]
  /** Commands that its arguments name, as the manifest of its tool says. */
  readonly commands?: readonly string[]
  /** What asks, if something does and an approval can answer all of it. */
  readonly questions?: readonly string[]
}

export const analysisByKey = (approvalKey: string): CallAnalysis =>
  ({ approvalKey, subjects: [{ key: approvalKey }], verdicts: [], touches: [] })
