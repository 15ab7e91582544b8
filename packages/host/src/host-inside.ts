import type { CompartmentUse, Layer, LoadReport, Rule } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Explanation } from './calls/explain.ts'
import type { ToolCall } from './calls/receive.ts'
import type { Hooks } from './model/hooks.ts'
import type { ReplayedCalls } from './policy/stub.ts'
import type { OpenApprovals } from './policy/approvals/approval-book.ts'
import type { QuestionDesk } from './policy/interaction/question-desk.ts'
import type { Redaction } from './records/redaction.ts'
import type { HeardUse, UseListeners } from './records/use-listeners.ts'
import type { Session } from './sessions/session.ts'
import type { ToolSwitches } from './sessions/tool-switches.ts'
import type { Workspace } from './sessions/workspace.ts'
import type { HookChain } from './calls/hooks.ts'

/** What an inspector sees and does besides what embedders do. */
export interface HostInside {
  /** Open questions of all sessions. */
  readonly desk: QuestionDesk
  /** What the compartments of extensions use now, without those that have none. Never rejects. */
  uses(): Promise<readonly ExtensionUse[]>
  /** Each use of a capability, after it ended, until the function that it returns is called. `listener` must not throw. */
  onUse(listener: (use: HeardUse) => void): () => void
  /** Open sessions, sub-agents included. */
  sessions(): readonly InspectedSession[]
  /** Hooks of every session, those that are open included. */
  addHooks(hooks: Hooks): () => void
  /** Resolves when calls so far are in the recordings of their sessions. Never rejects. */
  recorded(): Promise<void>
  /** Calls with these ids are replayed in an open session, until the function that it returns is called. */
  replay(sessionId: string, calls: ReplayedCalls): () => void
  /** What was loaded last. */
  loaded(): LoadReport
  /** Reports an error that no call caused. */
  suppressed(source: string, error: unknown): void
  /** Without the secrets of the host. */
  redact(value: Json): Json
}

/** As `ExtensionStatus` names it. */
export interface ExtensionUse {
  readonly id: string
  readonly layer: Layer
  readonly generation: number
  readonly uses: readonly CompartmentUse[]
}

export interface InspectedSession extends Session {
  /** `added`: as if the user had these rules, too. */
  explain(call: ToolCall, added?: readonly Rule[]): Promise<Explanation>
  readonly switches: ToolSwitches
}

/** `redaction`: as the audit has it. */
export const insideOf = (
  desk: QuestionDesk, listeners: UseListeners, workspaces: () => readonly Workspace[], hooks: HookChain, redaction: () => Redaction,
): HostInside => ({
  desk,
  uses: async () => {
    const all = workspaces().flatMap(({ context: { registry }, retirement }) => [...registry.extensions(), ...retirement.leaving])
    const found = await Promise.all(all.map(async (extension) => {
      const { descriptor: { id, layer }, generation } = extension
      return { id, layer, generation, uses: await extension.use() }
    }))
    return found.filter(({ uses }) => uses.length > 0)
  },
  onUse: (listener) => listeners.on(listener),
  sessions: () => workspaces().flatMap((workspace) => [...workspace.sessions]).flatMap(({ family }) => family),
  addHooks: (added) => hooks.add(added),
  recorded: async () => {
    await Promise.all(workspaces().map((workspace) => workspace.written()))
  },
  replay: (sessionId, calls) => {
    const owner = workspaces().find(({ openSessions }) => openSessions.has(sessionId))
    owner?.context.replays.set(sessionId, calls)
    return () => void owner?.context.replays.delete(sessionId)
  },
  loaded: () => workspaces()[0]!.reloader.report,
  suppressed: (source, error) => workspaces()[0]!.context.events.suppressed(source, error),
  redact: (value) => redaction().value(value),
})

/** Those of a host: of its workspaces, the current one first, and of their open sessions. */
export const approvalsIn = (workspaces: readonly Workspace[]): OpenApprovals => ({
  workspace: workspaces[0]!.path,
  projects: workspaces.map(({ projectApprovals }) => projectApprovals),
  sessions: workspaces.flatMap((workspace) => [...workspace.sessions]).flatMap(({ family }) => family)
    .map(({ parts }) => parts.scope.approvals),
})
