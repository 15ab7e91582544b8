export { defineExtension, defineTool, ToolError } from './author/extension.ts'
export type { ExtensionModule, ExtensionPhases, FromJsonSchema, ModuleTool, StoredState } from './author/extension.ts'
export type {
  AnyRuntime, DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileWatch, FileWriter, Interact, LineFound, LinesFound, Log, Net,
  NetRequest, NetResponse, PipeOptions, PipeResult, Runtime, SearchOptions, Secrets, SessionMemory, Shell, ShellResult, ShellStage, ShellTarget,
} from './author/runtime.ts'

export { BulkheadError, requireOptions, VALIDATION_STAGES, type Diagnostic, type ValidationStage } from './model/bulkhead-error.ts'
export { ERRORS, isErrorCode, type ErrorClass, type ErrorCode, type ErrorFault } from './model/errors.ts'
export { EVENT_TYPES, type BulkheadEvent, type EventBody, type EventListener, type EventOf, type EventType } from './model/events.ts'
export { APPROVAL_ANSWERS, TOOL_INTERACTION_KINDS } from './model/interaction.ts'
export type {
  ApprovalAnswer, ApprovalRequest, InteractionEnvelope, InteractionKind, InteractionOption, InteractionRequest, InteractionResponse,
} from './model/interaction.ts'
export { LIFECYCLE, LIFECYCLE_PHASES, LIFECYCLE_STATES, nextState, type LifecyclePhase, type LifecycleSignal, type LifecycleState } from './model/lifecycle.ts'
export { CALL_LIMITS, COMPARTMENT_LIMITS, DEFAULT_LIMITS, LONGEST_TIMER_MS, MANIFEST_LIMITS, type CompartmentLimits } from './model/limits.ts'
export {
  AGENT_TOOL, ANY_COMMAND, COMMAND_SEVERITIES, CONFIG_FILE, CONTRACT_VERSION, EXTENSION_ID_PATTERN, HEADER_NAME_PATTERN,
  isLockedTool, LAYERS, layerRank, LOCK_FILE, LOCK_VERSION, LOCKED_TOOLS, MANIFEST_FILE, PLACEMENTS, REQUIREMENT_VARIABLES,
  RULE_ACTIONS, SECURITY_MODES, TOOL_NAME_PATTERN, withCommonConfig,
} from './model/names.ts'
export type {
  CapabilityName, CommandSeverity, Layer, LockedTool, Placement, RuleAction, SecurityMode, ToolKind, ToolMode,
} from './model/names.ts'
export type { Completion, Content, ErrorOutcome, Outcome, OutcomeBody, OutcomeError, OutcomeMetadata, OutcomeOrigin, OutputOutcome } from './model/outcome.ts'

export { checkApprovalKey, compileApprovalKey, type ApprovalKeyTemplate } from './policy/approval-key.ts'
export type { AffectedPath, ArgumentsReader, ArgumentsReading, CallEffects, CallNeed, CallSubject, ReaderContext } from './policy/arguments-reader.ts'
export { compileCeiling, compileGrant, declaredCeiling, declaredPower, NO_GRANT, SUBAGENTS, type ExtensionPower, type Power, type PowerCapability } from './policy/power.ts'
export { allowedPatterns, allowsNeed, beyond, narrowPower, powerItems, powerPhrases, type PowerItem } from './policy/power-order.ts'
export { mustBeNamed, ProtectedPlaces, protectionReason, type Protection } from './policy/protected-places.ts'
export {
  dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, missingDependencyFault, orderDependencies, type Registrant,
  type RegistrationFault,
} from './policy/registration.ts'
export { checkRequirements, classifyToolMode, hasEffects, matchArguments, type VariableValues } from './policy/requirements.ts'
export { capabilitiesMeant, judgeRules, RULE_CAPABILITIES, type RuleCapability, type RuleQuestion, type RuleScope, type ScopedRule } from './policy/rules.ts'

export type { Approver, Clock, Interactor, MachineStage, StateMachine } from './ports/embedder.ts'
export type {
  ConnectedExtension, ConnectedServer, ExtensionCode, ExtensionDescriptor, ExtensionDigests, ExtensionSigner, IntegrityStatus, LayerConfig, Loader,
  LoadReport, LoadRequest, ResolvedConfig, TrustRootReport, WatchRequest,
} from './ports/loader.ts'
export { mayLoad, TRUST_DECISIONS } from './ports/project-trust.ts'
export type { ProjectStanding, ProjectTrust, TrustDecision, TrustLedger, TrustRecord, TrustReport, TrustStanding } from './ports/project-trust.ts'
export { BROKER_METHODS } from './ports/sandbox.ts'
export type {
  BrokerMethod, CompartmentCode, CompartmentEnd, CompartmentRequest, CompartmentServices, CompartmentSession, CompartmentTool,
  LogEntry, MissingWall, RuntimePart, Sandbox, SecretGrant, SessionAccess, StateAccess, ToolInvocation,
} from './ports/sandbox.ts'
export { auditRecord, STORE_COLLECTIONS } from './ports/store.ts'
export type {
  AuditEntry, AuditForm, AuditGroup, AuditRow, AuditSpan, Notebook, Notes, Store, StoreCollection, StoredRecord,
} from './ports/store.ts'
export type { ToolDefinition, ToolListing } from './ports/tool-listing.ts'

export type { ConfigFile, ExtensionConfig, McpServerConfig, OpenapiConfig, ToolConfig } from './validation/config.ts'
export type { AcceptedCapabilities, LockEntry } from './validation/lock.ts'
export type { Manifest, ManifestInput, StateSlot, ToolManifest } from './validation/manifest.ts'
export type { CommandClassification, CommandSafetyConfig, CommandSafetyPattern, Rule } from './validation/policy.ts'
export type { ArgPattern, Ceiling, RequirementSet, SecretManifest, ShellRequirement } from './validation/requirements.ts'
