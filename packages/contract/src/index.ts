export { defineExtension, defineTool, ToolError } from './author/index.ts'
export type { ExtensionModule, ExtensionPhases, FromJsonSchema, ModuleTool, StoredState } from './author/index.ts'
export type {
  AnyRuntime, AppliedUpdate, DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileUpdate,
  FileWatch, FileWriter, FindOptions, Interact, LineFound, LinesFound, Log, Net, NetRequest, NetResponse, PipeOptions,
  CommandAs, PipeResult, Runtime, SearchOptions, Secrets, SessionMemory, Shell, ShellResult, ShellStage, ShellTarget,
} from './author/runtime.ts'
export { isCertificateVariable, isProxyVariable, isUsualVariable, namedTwice, type CommandVariable } from './model/command-variables.ts'
export { BulkheadError, ERRORS, isErrorCode, requireOptions, RETRIED_CLASSES, VALIDATION_STAGES } from './model/errors.ts'
export type { Diagnostic, ErrorClass, ErrorCode, ErrorFault, ValidationStage } from './model/errors.ts'
export { EVENT_TYPES } from './model/events.ts'
export type { BulkheadEvent, CallLog, CallPhase, CallProgress, EndedUse, EventBody, EventListener, EventOf, EventType } from './model/events.ts'
export { LIMIT_EXAMPLES, limitWords, readAnswerLimit, untilWords, type AnswerLimit } from './model/answer-limit.ts'
export {
  APPROVAL_ANSWERS, APPROVAL_COVERS, TOOL_INTERACTION_KINDS, type ApprovalAnswer, type ApprovalRequest,
  type InteractionEnvelope, type InteractionKind, type InteractionOption, type InteractionRequest,
  type InteractionResponse, type OfferedAnswer, type Principal, type ProjectTool,
} from './model/interaction.ts'
export { readAssertion, wholeAssertion, type PasskeyAssertion, type PasskeyChoice, type PasskeyDemand, type PasskeyProof, type SealedPage } from './model/passkeys.ts'
export { carriesKeys, hostOfKey, isKeyWithin, keyGrant } from './model/keys.ts'
export { LIFECYCLE, LIFECYCLE_PHASES, LIFECYCLE_STATES, nextState, type LifecyclePhase, type LifecycleSignal, type LifecycleState } from './model/lifecycle.ts'
export { byteSize, declaresSetting, unknownSettings, withCommonConfig } from './model/common-config.ts'
export {
  ANSWER_LIMITS, CALL_LIMITS, COMPARTMENT_LIMITS, DEFAULT_LIMITS, LONGEST_TIMER_MS, MANIFEST_LIMITS, MCP_HTTP_LIMITS, POOL_LIMITS,
  RECORD_LIMITS, WORKER_LIMITS, type CompartmentLimits,
} from './model/limits.ts'
export { usesHome, withHome, withHomeVariable } from './policy/home-paths.ts'
export {
  AGENT_TOOL, ANY_COMMAND, BUNDLED_TOOLS, COMMAND_SEVERITIES, CONFIG_FILE, CONTRACT_VERSION, EXTENSION_ID_PATTERN,
  HEADER_NAME_PATTERN, IGNORE_FILE, isBundledTool, isLockedTool, LAYERS, layerRank, LOCK_FILE, LOCK_VERSION,
  LOCKED_TOOLS, MANIFEST_FILE, WORKER_LABEL_PATTERN, WORKSPACE_NAME_PATTERN, NPM_NAME_CHARS, NPM_NAME_PATTERN, PLACEMENTS, PROGRAM_TOOL, REQUIREMENT_VARIABLES,
  RULE_ACTIONS, RULE_CAPABILITIES, SECURITY_MODES, TOOL_MODES, TOOL_NAME_PATTERN, TREATMENT_PRESETS, TREATMENTS,
  type BundledTool, type CapabilityName, type CommandSeverity, type Dialect, type Layer, type LockedTool,
  type Placement, type RuleAction, type RuleCapability, type SecurityMode, type ToolKind, type ToolMode, type Treatment,
} from './model/names.ts'
export type { Completion, Content, EmbeddedResource, ErrorOutcome, Outcome, OutcomeBody } from './model/outcome.ts'
export type { OutcomeError, OutcomeMetadata, OutcomeOrigin, OutputOutcome, ResourceLink } from './model/outcome.ts'
export {
  argumentsLeftOut, checkApprovalKey, compileApprovalKey, type ApprovalKeyTemplate, type AffectedPath,
  type ArgumentsReader, type ArgumentsReading, type CallEffects, type CallNeed, type CallSubject, type CommandReading,
  type PreviewedWrite, type PreviewedWrites, type ReaderContext,
} from './policy/approval-key.ts'
export { compileCeiling, compileGrant, declaredCeiling, declaredPower, localPower, NO_GRANT } from './policy/power.ts'
export { portablePower, SUBAGENTS, type ExtensionPower, type Power, type PowerCapability } from './policy/power.ts'
export { allowedPatterns, allowsNeed, beyond, ceilingsOf, narrowPower, powerItems } from './policy/power-order.ts'
export { powerPhrases, type LocatedCeiling, type PowerItem } from './policy/power-order.ts'
export { mustBeNamed, ProtectedPlaces, protectionReason, type NamedPlaces, type Protection } from './policy/protected-places.ts'
export {
  dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, missingDependencyFault,
  orderDependencies, type Registrant, type RegistrationFault,
} from './policy/registration.ts'
export { checkRequirements, classifyEffects, classifyToolMode, hasEffects, isRepeatable } from './policy/requirements.ts'
export { matchArguments, mayChange, type PatternSource, type VariableValues } from './policy/requirements.ts'
export { isHeldBack } from './policy/held-back-files.ts'
export { CREDENTIALS, namesSensitiveFiles, SENSITIVE } from './policy/sensitive-files.ts'
export { actionWords } from './policy/rule-action.ts'
export { capabilitiesMeant, denyingRule, isCapability, isOfCalls, judgeRules, judgeUse, NOTHING_ASIDE, obstacleOf, possibleRules, rulePlace, rulesFor, setAside } from './policy/rules.ts'
export { comparePatterns, isEverything, kindOfTouch, patternsCross, SUBJECT_KINDS, type SubjectKind } from './policy/rule-patterns.ts'
export type { RuleAuthor, RuledTool, RuleQuestion, RuleVerdict, ScopedRule, SetAside, Touch } from './policy/rules.ts'
export type {
  ChangeFilter, ChangeRecorder, ChangeSource, ChangeStore, CommandRecorder, DelegatingCall, FileReplacement, FileState,
  FileUndo, NewChange, RecordedChange, RecordedFile, SelectedChanges, UndoAccess, UndoReport, UndoRequest, UndoSelection,
} from './ports/changes.ts'
export type { Approver, ClientCall, ClientCommand, ClientRun, Clock, Interactor } from './ports/embedder.ts'
export type { MachineStage, StateMachine, ToolDefinition, ToolListing, WorkspaceClient } from './ports/embedder.ts'
export { mayLoad, TRUST_DECISIONS, type AgentDescriptor, type ConnectedExtension } from './ports/loader.ts'
export type {
  ConnectedServer, ExtensionCode, ExtensionDescriptor, ExtensionDigests, ExtensionSigner, IntegrityStatus, LayerConfig,
  Loader, LoadReport, LoadRequest, ResolvedConfig, SkillDescriptor, TrustRootReport, ProjectDecision, ProjectStanding,
  ProjectTrust, TrustDecision, TrustLedger, TrustRecord, TrustReport, TrustStanding, TrustStatus, WatchRequest,
} from './ports/loader.ts'
export { mayReach, NO_COMMAND_WALLS, type CommandWall, type CommandWalls } from './ports/command-walls.ts'
export { BROKER_METHODS, type BrokerMethod, type CapabilityUse, type CommandAnswer } from './ports/runtime-parts.ts'
export type { DryRun, MeasuredUse, RuntimePart } from './ports/runtime-parts.ts'
export type { RemoteCode, RunsOn, WorkersFor } from './ports/remote-code.ts'
export { mayChangeDisk, type CodeOrigins, type CompartmentCode, type CompartmentEnd } from './ports/sandbox.ts'
export type { CompartmentRequest, CompartmentSession, CompartmentTool, CompartmentUse, Sandbox } from './ports/sandbox.ts'
export type { MissingWall, ToolInvocation, Wall, WrittenPlace } from './ports/sandbox.ts'
export type { CallSteps, CompartmentServices, LogEntry, SecretGrant } from './ports/compartment-services.ts'
export type { SessionAccess, StateAccess, WholeOutput } from './ports/compartment-services.ts'
export { CODE_ITEMS, type CodeDiagnostic, type CodeLocation, type CodeSymbol, type LanguageServers, type SourceFile, type TextPosition } from './ports/language-servers.ts'
export type { CallUse, DeniedPaths, IgnoredFiles, UseRules, UseVerdict } from './ports/use-rules.ts'
export type { Passkey, PasskeyRing, UsedPasskey } from './ports/passkeys.ts'
export type { JailedStart, JailGrant, KeyGrant, KeyUse, ServerJail, ServerStart } from './ports/server-jail.ts'
export { auditRecord, STORE_COLLECTIONS, type AdoptedRecords, type AuditChain, type AuditEntry } from './ports/store.ts'
export type { AuditForm, AuditGroup, AuditRow, AuditSpan, Store, StoreCollection, StoredRecord } from './ports/store.ts'
export type { LeasedCall, ListedWorker, PlacedCall, PlacedEnd, PlacedListener, PlacedRequest } from './ports/placements.ts'
export type { Placements, WorkerDemand, WorkerInfo, WorkerSeat, WorkerState } from './ports/placements.ts'
export { readListedCall, type BegunEffect, type CallEntry, type CallStart, type CallTerms, type Freeze } from './ports/work.ts'
export type { FreezeReport, HostDescription, HostInfo, HostState, HostUse, JoinedHost, ListedCall } from './ports/work.ts'
export type { OpenCall, Seat, SeatListener, ShownKind, ShownRow, Started, Work } from './ports/work.ts'
export type { AgentInput, AgentManifest } from './validation/agent.ts'
export type { ConfigFile, ExtensionConfig, McpServerConfig, OpenapiConfig, ToolConfig } from './validation/config.ts'
export type { LanguageServerConfig, LocalServerConfig } from './validation/local-servers.ts'
export type { ConformanceReport } from './validation/conformance.ts'
export type { AcceptedCapabilities, LockEntry } from './validation/lock.ts'
export type { Manifest, ManifestInput, StateSlot, ToolManifest } from './validation/manifest.ts'
export type { CommandClassification, CommandSafetyConfig, CommandSafetyPattern, Rule } from './validation/policy.ts'
export type { ArgPattern, Ceiling, RequirementSet, SecretManifest, ShellRequirement } from './validation/requirements.ts'
