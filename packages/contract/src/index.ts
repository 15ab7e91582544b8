export { defineExtension, defineTool, ToolError } from './authoring/extension.ts'
export type { ExtensionContext, ExtensionModule, ExtensionPhases, ModuleTool, StoredState, ToolDeclaration, ToolReturn } from './authoring/extension.ts'
export type {
  AnyRuntime, BaseRuntime, DirectoryEntry, Edited, Env, FileChange, FileReader, FilesFound, FileStat, FileWatch, FileWriter, Interact,
  LineFound, LinesFound, Log, Net, NetRequest, NetResponse, PipeOptions, PipeResult, ReadRange, Runtime, SearchOptions, Secrets,
  SessionMemory, Shell, ShellResult, ShellStage, ShellTarget, State, Tools,
} from './authoring/runtime.ts'
export type { ArgsOf, FromJsonSchema, TypedSchema } from './authoring/schema-type.ts'
export type { ArgumentsReader, ArgumentsReading, CallSubject, ReaderContext } from './arguments-reader.ts'
export { checkApprovalKey, compileApprovalKey, type ApprovalKeyTemplate } from './approval-key.ts'
export { BulkheadError, messageOf } from './bulkhead-error.ts'
export { closeNames, meantNames } from './close-names.ts'
export { COMMAND_SEVERITIES, commandSafetyPatternSchema } from './command-safety.ts'
export type { CommandClassification, CommandSafetyConfig, CommandSafetyPattern, CommandSeverity } from './command-safety.ts'
export { contractCompatible, CONTRACT_VERSION, coreSatisfies } from './compatibility.ts'
export { isTerminalResult, type CompletionHint } from './completion.ts'
export { CONFIG_FILE, configFileSchema, SECURITY_MODES, type ConfigFile, type ExtensionConfig, type McpServerConfig, type OpenapiConfig, type SecurityMode, type ToolConfig } from './config.ts'
export { VALIDATION_STAGES, type Diagnostic, type ValidationStage } from './diagnostic.ts'
export { ERRORS, givesAdvice, isErrorCode, type ErrorClass, type ErrorCode, type ErrorFault, type ErrorRow } from './errors.ts'
export { EVENT_TYPES, type BulkheadEvent, type EventBody, type EventListener, type EventOf, type EventType } from './events.ts'
export { compileGlob, globCovers, matchGlob, matchRow, matchSegment, pathSegments, type GlobMatch, type GlobOptions } from './glob.ts'
export { APPROVAL_ANSWERS, INTERACTION_KINDS, TOOL_INTERACTION_KINDS } from './interaction.ts'
export type {
  ApprovalAnswer, ApprovalRequest, InteractionEnvelope, InteractionKind, InteractionOption, InteractionRequest, InteractionResponse,
} from './interaction.ts'
export { atPointer, canonicalJson, findJsonFault, isJsonObject, JSON_LIMITS, parseJson, pointerStep, type Json, type JsonFault, type JsonLimits, type JsonObject, type ParsedJson } from './json.ts'
export { copyJson, type CopiedJson } from './json-copy.ts'
export { COMMON_CONFIG_PROPERTIES, withCommonConfig } from './json-schema.ts'
export { LIFECYCLE, LIFECYCLE_PHASES, LIFECYCLE_STATES, nextState, type LifecyclePhase, type LifecycleSignal, type LifecycleState } from './lifecycle.ts'
export { LOCK_FILE, LOCK_VERSION, lockFileSchema, type AcceptedCapabilities, type LockEntry, type LockFile } from './lock.ts'
export { CALL_LIMITS, COMPARTMENT_LIMITS, DEFAULT_LIMITS, MANIFEST_LIMITS, type CompartmentLimits, type LimitRow } from './limits.ts'
export { makeFolder, type FolderDisk } from './make-folder.ts'
export { MANIFEST_FILE, manifestSchema, type Manifest, type ManifestInput, type StateSlot, type ToolManifest } from './manifest.ts'
export { ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, HEADER_NAME_PATTERN, isLockedTool, LAYERS, layerRank, LOCKED_TOOLS, TOOL_NAME_PATTERN, type Layer, type LockedTool } from './names.ts'
export type { Completion, Content, ErrorOutcome, Outcome, OutcomeBody, OutcomeError, OutcomeMetadata, OutcomeOrigin, OutputOutcome } from './outcome.ts'
export { forms, requireOptions, type OptionForm, type OptionForms } from './options.ts'
export { isQuotaFault } from './quota-fault.ts'
export { beyond, hostCovers, hostMatches, intersectGrant, pathMatches } from './requirement-order.ts'
export {
  ANY_COMMAND, CAPABILITY_NAMES, checkRequirements, compileGrant, hasEffects, matchArguments, NO_GRANT, REQUIREMENT_VARIABLES, requirementSet,
} from './requirements.ts'
export type { ArgPattern, CapabilityName, Grant, RequirementSet, RequirementVariable, ShellRequirement, VariableValues } from './requirements.ts'
export { SCHEMA_FORMATS } from './schema-formats.ts'
export { schemaKeywordForm, type KeywordForm } from './schema-keywords.ts'
export type { SecretManifest } from './secrets.ts'
export { judgeRules, RULE_ACTIONS, RULE_CAPABILITIES, RULE_SCOPES, ruleSchema, type Rule, type RuleAction, type RuleCapability, type RuleQuestion, type RuleScope, type RuleVerdict, type ScopedRule } from './rules.ts'
export { parseByteSize, type ByteSize } from './size.ts'
export type { IntegrityStatus, ToolDefinition, ToolListing } from './tool-definition.ts'
export { isThisMachine } from './this-machine.ts'
export { classifyToolMode, TOOL_KINDS, TOOL_MODES, type ToolKind, type ToolMode } from './tool-mode.ts'
export { untilAborted } from './until-aborted.ts'
export { visibleJson, visibleText } from './visible-text.ts'
export { BROKER_METHODS, CHANNELS, COMPARTMENT_METHODS, POWERS, WIRE_LIMITS } from './wire.ts'
export type { BrokerMethod, Channel, CompartmentMethods, LoadReply, LoadRequest as CompartmentLoadRequest, Power, WireError, WireReply, WireRequest, WireValue } from './wire.ts'
export { auditRecord, type AuditForm, type AuditGroup, type AuditRow } from './ports/audit-group.ts'
export { LONGEST_TIMER_MS, type Clock } from './ports/clock.ts'
export type { CompartmentServices, LogEntry, SecretGrant, SessionAccess, StateAccess } from './ports/capabilities.ts'
export type { Approver, Interactor } from './ports/interactor.ts'
export type {
  ConnectedExtension, ConnectedServer, ExtensionCode, ExtensionDescriptor, ExtensionDigests, ExtensionSigner, LayerConfig, Loader, LoadReport,
  LoadRequest, ResolvedConfig, TrustRootReport, WatchRequest,
} from './ports/loader.ts'
export { mayLoad, TRUST_DECISIONS } from './ports/project-trust.ts'
export type { ProjectStanding, ProjectTrust, TrustDecision, TrustLedger, TrustRecord, TrustReport, TrustStanding } from './ports/project-trust.ts'
export { PLACEMENTS, type CompartmentCode, type CompartmentEnd, type CompartmentRequest, type CompartmentSession, type CompartmentTool, type Placement, type Sandbox, type ToolInvocation } from './ports/sandbox.ts'
export type { MachineStage, StateMachine } from './ports/state-machine.ts'
export {
  STORE_COLLECTIONS, type AuditEntry, type AuditSpan, type Notebook, type Notes, type Store, type StoreCollection, type StoredRecord,
} from './ports/store.ts'
