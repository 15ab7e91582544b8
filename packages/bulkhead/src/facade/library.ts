import type { Store } from '@bulkhead/contract'
import type { SqliteStoreOptions } from '@bulkhead/store'
import type { KitPrompts } from '@bulkhead/tools-bundled'
import { keepCompiledCode } from './compiled-code.ts'
import type { CreateHostOptions, Host } from './create-host.ts'
import type { CreateWorkerOptions, RunningWorker } from './create-worker.ts'
import type { Inspector, InspectorOptions } from './inspector/create-inspector.ts'

export { callAsStep, StepError, type StepCall } from './call-as-step.ts'
export type { CreateHostOptions, Host, TenantOptions } from './create-host.ts'
export type { CreateWorkerOptions, RunningWorker } from './create-worker.ts'
export type { EndedCall } from '@bulkhead/workers'
export type { LoginOptions, McpBook } from './mcp-book.ts'
export type { GridaToolContract, NamedTool, StudToolContract } from './foreign-tools.ts'
export type { ForeignTool, Registrable } from './own-tools.ts'
export type { ProfileName } from './profiles.ts'
export type {
  McpEmbedder, McpPrompt, McpResource, McpRoot, McpServerStatus, ReplicaRecords, SamplingRequest, SamplingResult,
} from '@bulkhead/bridges/mcp'
export { createTerminalInteractor, type TerminalStreams } from './terminal/terminal-interactor.ts'
export {
  COMMAND_SAFETY_PATTERNS, createCommandClassifier, createHeadlessInteractor, createProgrammaticInteractor,
} from '@bulkhead/host/embedder'
export type { SqliteStoreOptions } from '@bulkhead/store'
export { CORE_VERSION } from './version.ts'
export type {
  Approval, ApprovalBook, ApprovalEnd, ApprovalFilter, ApprovalGrant, ApprovalScope, DamagedApproval,
} from '@bulkhead/host'
export type {
  CallAllOptions, CancelReason, ExecutionStrategy, InterruptedCall, PausedCall, PermissionRequired,
  ProgrammaticInteractor, Steering, SubagentOptions, Turn,
} from '@bulkhead/host'
export type {
  ExtensionStatus, FreezeOrder, ReloadChange, ReloadReport, ReloadRequest, ResumeOptions, Session, SessionOptions,
  SmokeCheck, SwitchReport, Trial,
} from '@bulkhead/host'
export type { PurgeFilter, RecordedCall, RecordedSession, RecordedValue, Recording, RecordingBook } from '@bulkhead/host'
export type { ReplayDifference, ReplayOptions, ReplayReport } from './replay/replay-session.ts'
export type { ValueDifference } from './replay/difference.ts'
export type {
  CallCheck, CallCheckAnswer, CallView, CommandClassifier, Guard, HookContext, Hooks, Judge, JudgeAnswer,
  Observers, ResultAnswer, ResultCheck, ResultJudge,
} from '@bulkhead/host'
export type { AgentRequest, AgentResult, AgentRunner, BackgroundTask, EndedTask } from '@bulkhead/host'
export type { PromptSectionsOptions } from './session-prompts.ts'
export type {
  KitPrompts, OmittedPrompt, PromptSection, PromptSectionId, PromptSections,
} from '@bulkhead/tools-bundled'
export type {
  BudgetLimits, CallOptions, CloseReport, ExplainedStep, Explanation, HistogramSnapshot, LoopLag, Surface,
  SurfaceItem, ToolCall, ToolMetrics,
} from '@bulkhead/host'
export { BulkheadError } from '@bulkhead/contract'
export { defineAgent, defineTool } from '@bulkhead/contract/author'
export type {
  AgentDescriptor, AgentInput, AgentManifest, ApprovalAnswer, ApprovalRequest, Approver, BulkheadEvent, CallLog, CallProgress, ClientCall, ClientCommand, ClientRun,
  CommandClassification,
  CommandSafetyPattern, Completion, ConfigFile, Content, Diagnostic, EmbeddedResource, ErrorCode, ErrorOutcome, EventListener, EventOf,
  EventType, ExtensionDescriptor, Freeze, FreezeReport, InteractionEnvelope, InteractionRequest, InteractionResponse, Interactor,
  JoinedHost, ListedWorker, WorkerInfo,
  MachineStage, Outcome, OutcomeMetadata, OutputOutcome, ProjectTool, ProjectTrust, ResourceLink, Rule, SecurityMode, StateMachine,
  Store, ToolDefinition, ToolListing, WorkspaceClient,
} from '@bulkhead/contract'
export type { Json, JsonObject } from '@bulkhead/kit/json'

export type { Inspector, InspectorOptions } from './inspector/create-inspector.ts'

// Each implementation is loaded by the first call, so that importing the library stays cheap.

/**
 * Creates a host: loads and verifies extensions, and runs calls. Enables the compile cache of Node for this process,
 * unless it is enabled or disabled already. Rejects with ConfigInvalid for invalid options, AgentInvalid for an invalid
 * agent, and ProjectPathInvalid for a workspace that cannot be opened.
 */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  keepCompiledCode()
  const implementation = await import('./create-host.ts')
  return implementation.createHost(options)
}

/** Serves calls of hosts on the same store. Rejects with ConfigInvalid, ProjectPathInvalid and StoreUnavailable. */
export async function createWorker(options: CreateWorkerOptions): Promise<RunningWorker> {
  const implementation = await import('./create-worker.ts')
  return implementation.createWorker(options)
}

/**
 * Shows a host to people: a page and a protocol that you serve. Rejects with ConfigInvalid, also for a host that
 * `createHost` of this package did not make.
 */
export async function createInspector(host: Host, options?: InspectorOptions): Promise<Inspector> {
  const implementation = await import('./inspector/create-inspector.ts')
  return implementation.createInspector(host, options)
}

/**
 * The kits that ship with Bulkhead, and the YAML files in `kits` of the home: prompts for MCP clients. Pass it in
 * `prompts` of `serveTools`.
 */
export async function openKitPrompts({ home }: { readonly home?: string | undefined } = {}): Promise<KitPrompts> {
  const [{ createKitPrompts }, { kitFolder }] = await Promise.all([
    import('@bulkhead/tools-bundled'), import('./folders.ts'),
  ])
  return createKitPrompts(kitFolder(home))
}

/** Opens or creates a store on disk. Rejects with ConfigInvalid or StoreUnavailable. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const implementation = await import('@bulkhead/store')
  return implementation.openSqliteStore(options)
}
