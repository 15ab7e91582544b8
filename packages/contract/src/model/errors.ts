import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { findOptionFault, type OptionForms } from '@bulkhead/kit/options'
import type { Layer } from './names.ts'

/**
 * Every error of the system. To add one, add a row; docs/reference/errors.md is generated from this table.
 *
 * class: the kind of error, for models and embedders to branch on.
 * fault: who can fix it.
 * retryable: whether the same call may succeed later.
 */
export type ErrorClass = 'Validation' | 'ToolTransient' | 'ToolTerminal' | 'Session' | 'Cancellation' | 'ExtensionHost'
/** Classes whose errors can pass. The others are final. */
export const RETRIED_CLASSES = ['ToolTransient', 'ToolTerminal', 'Session', 'ExtensionHost'] as const satisfies ErrorClass[]
export type ErrorFault = 'caller' | 'policy' | 'extension' | 'host' | 'person'

export interface ErrorRow {
  readonly class: ErrorClass
  readonly fault: ErrorFault
  readonly retryable: boolean
  readonly meaning: string
  readonly cure: string
}

const permanent = (cls: ErrorClass, fault: ErrorFault, meaning: string, cure: string): ErrorRow =>
  Object.freeze({ class: cls, fault, retryable: false, meaning, cure })
const retryable = (cls: ErrorClass, fault: ErrorFault, meaning: string, cure: string): ErrorRow =>
  Object.freeze({ class: cls, fault, retryable: true, meaning, cure })

export const ERRORS = Object.freeze({
  // Manifest, package and configuration: the loader's stages.
  ShapeInvalid: permanent('Validation', 'extension', 'The manifest is missing, unreadable, or does not match its schema.', 'Correct the field at the given path. Editors complete it with the manifest schema.'),
  ContractVersionMismatch: permanent('Validation', 'extension', 'The manifest is written for a contract version that this host does not support.', 'Publish for a compatible contractVersion, or use a host that supports it.'),
  RequiredCoreVersionMismatch: permanent('Validation', 'extension', 'The host version is outside requiredCoreVersion.', 'Update the host, or widen the range after testing.'),
  ConfigSchemaInvalid: permanent('Validation', 'extension', 'A JSON Schema in the manifest cannot be compiled or breaks a rule for schemas.', 'Correct the schema at the given path.'),
  SchemaCheckUnavailable: retryable('Session', 'host', 'The schemas of an extension could not be checked because no thread could be started.', 'Allow the host to start threads (with --permission: --allow-worker), then load again.'),
  ConfigInvalid: permanent('Validation', 'caller', 'A configuration file or an option does not match its documented form.', 'Correct the file, or the key at the given path.'),
  ConfigSchemaViolation: permanent('Validation', 'caller', 'The configuration of an extension or tool does not match its configSchema.', 'Correct the value at the given path, or remove it.'),
  RequirementInvalid: permanent('Validation', 'extension', 'A requirement uses an unknown variable or an invalid pattern.', 'Use {workspace}, {ad-hoc} or {user-data}, and the documented pattern forms.'),
  TextSuspicious: permanent('Validation', 'extension', 'A text for models contains invisible characters or instructions to the model.', 'Read the text as it is shown. Use the extension only if you know why it contains this.'),
  RegistrationConflict: permanent('Validation', 'extension', 'Two extensions of one layer have the same id or tool name. Both are refused.', 'Rename or disable one of them.'),
  LockedIdRedefined: permanent('Validation', 'extension', 'A tool uses a locked name with another input schema or more powers.', 'Give the tool another name.'),
  DependencyMissing: permanent('Validation', 'extension', 'An extension depends on another one that is not loaded.', 'Install or enable the missing extension.'),
  DependencyCycle: permanent('Validation', 'extension', 'Extensions depend on each other in a cycle.', 'Break the cycle that the message names.'),
  IntegrityFailed: permanent('Validation', 'extension', 'The files on disk differ from the files that were verified.', 'Install the package again from its source. If you changed it yourself, pack it again.'),
  IntegrityTokenMissing: permanent('Validation', 'policy', 'The policy requires an integrity file and the package has none.', 'Pack the extension, which adds the file, or relax the policy for its layer.'),
  SignatureInvalid: permanent('Validation', 'extension', 'A signature is missing, does not verify, or is not by the pinned signer.', 'Check who published the package. Pin the new identity only if you know it.'),
  ConformanceUnproven: permanent('Validation', 'policy', 'The policy requires proof of conformance, and the package has none by a pinned signer.', 'Get an attestation by one of the signers in policy.conformance, and pass it with `--attestation`.'),
  SigningFailed: retryable('Session', 'host', 'A signature could not be made.', 'Sign in CI, where there is an identity token, or with a key if the command has --key. Check the network.'),
  PackageUnsafe: permanent('Validation', 'extension', 'The package contains a link, a special file, too many bytes, or names that collide, or its code imports a file outside its folder.', 'Ship only plain files, within the documented limits, and import only files of the folder and its packages.'),
  DuplicateJsonKey: permanent('Validation', 'extension', 'A JSON file has the same key twice in one object.', 'Remove one of them.'),
  UsageInvalid: permanent('Validation', 'caller', 'The command line is invalid. Nothing was done.', 'Correct it as the usage shows; see `--help`.'),
  AgentNotFound: permanent('Session', 'caller', 'No agent with that name is defined.', 'List the agents with `bulkhead agents`, or with `host.agents()`.'),
  AgentInvalid: permanent('Validation', 'caller', 'An agent manifest is unreadable or does not match its schema, or its roots cannot be used.', 'Correct the field at the given path. Editors complete it with the agent schema.'),
  ExtensionNotFound: permanent('Validation', 'caller', 'No extension with that id is loaded.', 'List the loaded extensions with `bulkhead tools`.'),
  InstallSourceInvalid: permanent('Validation', 'caller', 'The install source is not a folder, a tarball or a package name with a version.', 'Pass a folder such as ./weather, a tarball such as weather-1.4.0.tgz, or a package of the registry.'),
  ConsentRequired: permanent('Validation', 'person', 'A version needs more powers, or has another signer, than the accepted version.', 'Review the difference and accept it.'),
  LockInvalid: permanent('Validation', 'caller', 'bulkhead.lock cannot be read, so the accepted versions are unknown. Nothing of its layer is loaded.', 'Restore the file, or remove it and install again.'),
  LockMismatch: permanent('Validation', 'extension', 'An installed package differs from the accepted one, or an accepted package is missing.', 'Install the accepted version again, or review this one and accept it with `bulkhead install`.'),
  UpdateRefused: permanent('Validation', 'policy', 'The policy forbids this update: it needs more powers without a new major version, or more powers at all.', 'Keep the accepted version, ask the publisher, or change policy.update.widening.'),
  InstallSourceUnavailable: retryable('Session', 'host', 'The registry or the package cannot be reached, or the answer is an error.', 'Check the address of the registry and the network, then try again.'),
  InstallBusy: retryable('Session', 'caller', 'Another process is installing into the same layer.', 'Wait until it ends.'),
  InstallFailed: retryable('Session', 'host', 'The layer could not be written. Its previous content is unchanged.', 'Check the disk and the permissions of the folder in the message.'),
  ProjectTrustRequired: permanent('Session', 'person', 'The project has its own layer and is not trusted. Nothing in it was read.', 'Review the folder, then trust it: run `bulkhead trust` there, or pass `trust` to `createHost`.'),
  ProjectPathInvalid: permanent('Validation', 'caller', 'The workspace is not a folder that can be opened.', 'Pass the path of an existing folder.'),
  TrustStoreUnavailable: retryable('Session', 'host', 'The record of trusted projects cannot be read or written.', 'Check the permissions of the folder in the message.'),
  TrustEntryInvalid: permanent('Validation', 'host', 'An entry in the record of trusted projects is malformed and was ignored.', 'Remove the entry and decide again.'),
  TrustScopeViolation: permanent('Validation', 'host', 'The record of trusted projects would be inside a project, which could then trust itself.', 'Keep the folder of the global layer outside the project.'),
  AllowlistWithoutMode: permanent('Validation', 'caller', 'Allowlist entries are configured, but no layer sets the mode to allowlist.', 'Set mode to allowlist, or remove the entries.'),

  // A call, before it reaches a tool.
  ToolNotRegistered: permanent('ToolTerminal', 'caller', 'No enabled tool has that name.', 'Use a name from the list of tools.'),
  ToolsDisabled: permanent('ToolTerminal', 'policy', 'The tool is disabled for this session or by configuration.', 'Enable it, or do without it.'),
  InputInvalid: permanent('ToolTerminal', 'caller', 'The arguments do not match the input schema of the tool.', 'Correct the arguments and call again.'),
  UndoConflict: permanent('ToolTerminal', 'caller', 'An undo would lose later changes, or cannot put everything back. Nothing was undone.', 'Look at the dry run. To undo anyway, use force.'),
  CapabilityDenied: permanent('ToolTerminal', 'policy', 'The call tried to use something that its tool is not granted.', 'Declare it in `requires`, or ask the operator to raise the ceiling.'),
  CapabilityUnavailable: permanent('ExtensionHost', 'host', 'A declared capability cannot be enforced here, so it is not granted.', 'Use a host, platform or placement that can enforce it, or remove the declaration.'),
  RoleDenied: permanent('ToolTerminal', 'policy', 'A role flag denies this tool to the role of the session.', 'Use another role, or change the flag.'),
  RuleDenied: permanent('ToolTerminal', 'policy', 'A permission rule denies this call, or something that it uses.', '`explain` shows the rule and its source.'),
  WatchdogDenied: permanent('ToolTerminal', 'policy', 'A watchdog denied the call.', 'Follow the reason that it gives.'),
  GuardDenied: permanent('ToolTerminal', 'policy', 'A guard denied the call, or failed.', 'Follow the reason that it gives.'),
  ArgumentsUnsettled: permanent('ToolTerminal', 'policy', 'Watchdogs or guards kept changing the arguments of the call.', 'Make them agree: none may change what another one produces.'),
  ApprovalDenied: permanent('ToolTerminal', 'person', 'A person denied the call or something that it uses, or no person could be asked.', 'Follow the reason. Do not ask for the same again.'),
  ApprovalKeyInvalid: permanent('Validation', 'extension', 'The approval key is empty, too long, or has control characters.', 'If an argument makes it too long, call with a shorter one. Otherwise the author of the tool must correct the template or deriveApprovalKey.'),
  ApprovalKeyDerivationFailed: permanent('ToolTerminal', 'extension', 'deriveApprovalKey threw, took too long, or did not return a string.', 'Correct deriveApprovalKey. It must be quick and deterministic.'),
  /**
   * @deprecated Nothing reports it. A command that is refused is WatchdogDenied, also in a result in the form of stud.
   */
  CommandRejected: permanent('ToolTerminal', 'policy', 'Deprecated: nothing reports it. A command that is refused is WatchdogDenied.', 'Handle WatchdogDenied.'),
  SubagentDepthExceeded: permanent('ToolTerminal', 'policy', 'Sub-agents are nested too deep.', 'Do the work in this session.'),
  BudgetExhausted: permanent('Session', 'policy', 'The token or call budget of this workflow is used up.', 'Finish with the results so far, or raise the budget.'),
  HookVetoed: permanent('ToolTerminal', 'policy', 'A before-hook skipped the call.', 'Continue without the call.'),
  SkippedBySteering: permanent('Cancellation', 'person', 'The call was skipped because a message of the user was waiting.', 'Read the message first.'),

  // A call, in the tool.
  ToolExecutionFailed: permanent('ToolTerminal', 'extension', 'The tool reported or threw an error.', 'Read the message of the tool.'),
  ProgramFailed: permanent('ToolTerminal', 'caller', 'The program threw an error or has a syntax error.', 'Correct the program and run it again.'),
  ResourceBusy: retryable('ToolTransient', 'extension', 'The tool reported that a resource is busy.', 'Try again later.'),
  NotFound: permanent('ToolTerminal', 'caller', 'Something that the arguments name does not exist.', 'Check the name or path.'),
  OutputMalformed: permanent('ToolTerminal', 'extension', 'The tool returned a value that is not JSON.', 'Return plain data.'),
  OutputTooLarge: permanent('ToolTerminal', 'extension', 'The result exceeds the size limit.', 'Return less, or write it to a file.'),
  TooManyBytesRead: permanent('ToolTerminal', 'extension', 'The call exceeded the limit of bytes read from files and responses.', 'Do less in one call, or raise readBytes for this extension.'),
  TooManyBytesWritten: permanent('ToolTerminal', 'extension', 'The call exceeded the limit of bytes written to files.', 'Do less in one call, or raise writtenBytes for this extension.'),
  TooManyBytesSent: permanent('ToolTerminal', 'extension', 'The call exceeded the limit of bytes sent to hosts and commands.', 'Do less in one call, or raise sentBytes for this extension.'),
  TooManyBytesSaved: permanent('ToolTerminal', 'extension', 'The result exceeds the limit for saving to a file, for the call or for its session. It is cut.', 'Ask for less, raise savedBytes for this extension, or open another session.'),
  TooManyNestedCalls: permanent('ToolTerminal', 'extension', 'The call exceeded the limit of calls to other tools.', 'Do less in one call, or raise nestedCalls for this extension.'),
  ExecutionTimeout: retryable('ToolTransient', 'extension', 'The tool did not answer before the deadline.', 'Ask for less, or raise the timeout.'),
  MaxRetriesExceeded: retryable('ToolTransient', 'extension', 'Every attempt failed with a temporary error.', 'Try again later.'),
  CallInterrupted: permanent('Session', 'host', 'The host ended while the call was open. It had begun nothing that can have an effect, apart from requests with GET and HEAD.', 'Call again if you still need the result.'),
  OutcomeUnknown: permanent('Session', 'host', 'The host ended after the call had begun something that can have an effect. Whether it happened is unknown. The host never repeats such a call by itself.', 'Find out whether it happened before you call again. `data.began` says what began and when, `data.verify` names a tool that finds out, if there is one.'),
  IdempotencyKeyReused: permanent('ToolTerminal', 'caller', 'The idempotency key of the call was used with another tool or other arguments. Nothing was run.', 'Use a new key for another call.'),
  IdempotencyKeyInUse: retryable('Session', 'caller', 'A call with the same idempotency key is under way, in this process or in another one. Nothing was run.', 'Wait until it has ended, then call again with the same key to get its outcome.'),
  HostFrozen: retryable('Session', 'person', 'All hosts on the store are frozen: no call starts. This one was not started.', 'Ask the person whom the message names. `bulkhead thaw` lets calls start again.'),
  NoWorkerReady: retryable('ExtensionHost', 'host', 'The call demands a worker, and none that is ready serves it. The call did not run.', 'Start a worker with the labels that the message names: `bulkhead worker`. `bulkhead workers` lists those that there are.'),
  WorkerRefused: permanent('ExtensionHost', 'policy', 'A worker refused the call: it does not trust its caller or its package, or the call exceeds what the worker allows. The call did not run.', 'Read the reason in the message, and change the trusted keys, the packages or the ceiling of the worker.'),
  LeaseLost: retryable('Session', 'host', 'A worker no longer has the lease of a call, so it begins nothing more for it.', 'No action is needed: the caller decides whether the call runs again.'),
  ServerUnavailable: retryable('ToolTransient', 'extension', 'The server of the tool cannot be reached. The call was not sent.', 'Continue without the tool, or try again after the time in the message. `bulkhead tools --connect` shows what is wrong with the server.'),
  SignInRequired: permanent('ToolTerminal', 'caller', 'The server of the tool requires a sign-in. The call was not sent.', 'Run `bulkhead mcp login NAME` with the name of the server, or `host.mcp.login(name, …)`, then call again.'),
  SignInFailed: permanent('Session', 'caller', 'The sign-in to a server failed. Earlier tokens are unchanged.', 'Read the message, then sign in again. If the server does not register clients, set oauth.clientId in its entry.'),
  ServerLost: retryable('ExtensionHost', 'extension', 'The server of the tool ended or became unreachable while the call ran. How much of it was done is unknown.', 'Check what the call did before you call again.'),
  ToolDefinitionChanged: permanent('ToolTerminal', 'extension', 'The server changed the definition of the tool after it was offered and approved. The call was not sent.', 'Read the new description in the next turn. Earlier approvals do not apply to it.'),
  TooManyCalls: retryable('ToolTransient', 'host', 'The compartment runs as many calls or commands as it may, and the queue of the session is full.', 'Wait until some of them end, or use `callAll`, which waits.'),

  // Cancellation, from the outside in.
  SessionCancelled: permanent('Cancellation', 'person', 'The session was cancelled or closed.', 'Open another session.'),
  TurnCancelled: permanent('Cancellation', 'person', 'The turn was cancelled.', 'Begin another turn.'),
  ToolCancelled: permanent('Cancellation', 'person', 'The call was cancelled.', 'Call again if you still need the result.'),
  TurnInvalid: permanent('Session', 'caller', 'A turn began inside another one, or ended although none had begun.', 'End each turn before the next one begins.'),
  HostClosed: permanent('Session', 'caller', 'The host is closed or closing.', 'Create another host.'),

  // Compartments and the boundary.
  CompartmentStartFailed: retryable('ExtensionHost', 'extension', 'The code of the extension could not be imported.', 'Read the message. `node --check` on each file finds syntax errors.'),
  CompartmentStartTimeout: retryable('ExtensionHost', 'extension', 'Importing the code of the extension took too long.', 'Do less during import, or raise startMs for this extension.'),
  NoPlaceFree: retryable('ExtensionHost', 'host', 'The compartment was not started: the host runs as many as it may, or the system is out of resources.', 'Try again later, raise sandbox.most, or give the host more processes, descriptors and memory.'),
  CompartmentCrashed: retryable('ExtensionHost', 'extension', 'The compartment ended unexpectedly.', 'The next call restarts it. Tell the publisher if it keeps crashing.'),
  CompartmentKilled: retryable('ExtensionHost', 'extension', 'The compartment was stopped because another call in it exceeded a limit.', 'Call again.'),
  CompartmentGone: retryable('ExtensionHost', 'host', 'The compartment ended before the call was sent. The call did not run.', 'Call again. The next call restarts the compartment.'),
  CompartmentOutOfHeap: permanent('ExtensionHost', 'extension', 'The extension exceeded the heap limit of its thread.', 'Ask for less, or raise heapMb for this extension.'),
  CompartmentOutOfMemory: permanent('ExtensionHost', 'extension', 'The process of the compartment exceeded its memory limit, which includes buffers.', 'Ask for less, or raise memoryMb for this extension.'),
  CompartmentOverloaded: permanent('ExtensionHost', 'extension', 'The compartment exceeded its limit of processor time.', 'Ask for less, or raise cpuMs for this extension.'),
  CompartmentQuarantined: retryable('ExtensionHost', 'extension', 'The extension crashed too often and is paused.', 'Wait for the time in the message.'),
  LockdownFailed: permanent('ExtensionHost', 'host', 'The compartment still had a power that it must not have, so it was not used.', 'Report this with the version of Node.'),
  BoundaryViolation: permanent('ExtensionHost', 'extension', 'The compartment sent a message that the protocol does not allow, and was killed.', 'Do not use this version; tell the publisher.'),
  MessageTooLarge: permanent('ExtensionHost', 'extension', 'A message of the compartment, or of the server of the tool, exceeded the size limit.', 'Send less at once, or raise messageBytes for this extension. The limit for servers is fixed.'),
  MessageFlood: permanent('ExtensionHost', 'extension', 'The compartment exceeded the limit of messages per second and was killed.', 'Send fewer, or raise messagesPerSecond for this extension.'),
  TooManyRequests: permanent('ExtensionHost', 'extension', 'The compartment exceeded the limit of open capability calls and was killed.', 'Wait for answers, or raise outstandingRequests for this extension.'),
  LogTruncated: permanent('ExtensionHost', 'extension', 'The compartment exceeded the limit for its log. Further lines are dropped.', 'Log less, or raise logBytes for this extension.'),
  BuiltinDenied: permanent('ExtensionHost', 'extension', 'The code uses a module, or a member of one, that is not available in compartments.', 'Declare the capability that the message names, or use `runtime`.'),
  ModuleNotFound: permanent('ExtensionHost', 'extension', 'The code imports a module that is not in the package.', 'Bundle dependencies when you pack.'),
  ExportsMismatch: permanent('ExtensionHost', 'extension', 'The code does not match the manifest.', 'Declare the same tools, schemas and requirements in both.'),

  // Lifecycle, state, interaction.
  LifecycleFailure: retryable('ExtensionHost', 'extension', 'A lifecycle phase of the extension threw.', 'Read the message. The state is unchanged.'),
  LifecycleTimeout: retryable('ExtensionHost', 'extension', 'A lifecycle phase took too long.', 'Do less in the phase, or raise phaseMs.'),
  LifecyclePhaseInvalid: permanent('ExtensionHost', 'host', 'A lifecycle phase was requested that cannot follow the current state.', 'This is a bug in the host. Report it.'),
  ReloadRefused: permanent('ExtensionHost', 'extension', 'The extension declares that it is never reloaded.', 'Restart the host.'),
  SlotAccessDenied: permanent('ExtensionHost', 'extension', 'An extension used a state slot that it did not declare.', 'Declare stateSlot. An extension can use only its own slot.'),
  SlotVersionMissing: permanent('Validation', 'host', 'A stored state has no version.', 'Remove the record that the message names from the collection `state` of the store.'),
  SlotDriftRejected: permanent('Session', 'extension', 'The stored state has another version, and the extension does not accept it.', 'Use the version that wrote it, or one that migrates it, or remove the record that the message names from the collection `state` of the store.'),
  SlotMigrationFailed: permanent('Session', 'extension', 'The extension could not migrate its stored state to the current version.', 'Tell the publisher. The stored state is unchanged.'),
  StateInvalid: permanent('ToolTerminal', 'extension', 'The new state does not match the declared schema.', 'Write a value that matches the schema.'),
  EnvNameUndeclared: permanent('ToolTerminal', 'extension', 'The tool asked for a variable that its manifest does not declare.', 'Add the name to `env`.'),
  EnvNameNotSet: permanent('ToolTerminal', 'caller', 'A declared variable has no value.', 'Set the variable for the host.'),
  InteractionUnavailable: permanent('Session', 'host', 'No person is available to answer.', 'Continue with a best guess, or run with a person present.'),
  SessionActiveElsewhere: retryable('Session', 'caller', 'The session is open in another host, so this host cannot resume it.', 'Send the call to that host, or close the session there and resume it here. If that host has died, try again: on a server that is known after 15 seconds.'),
  InteractionTimeout: retryable('Session', 'person', 'The question was not answered in time.', 'Ask again.'),
  InteractionAlreadyAnswered: permanent('Session', 'caller', 'An answer arrived after the question was settled.', 'No action is needed.'),
  ClarificationNeeded: permanent('Session', 'person', 'A tool asked a question that has no answer yet, or no one has decided on the call. With `data.paused` the question is stored and the call waits; without it, a person said "not now".', 'Answer it with `resume`. The call then continues.'),
  StoreUnavailable: retryable('Session', 'host', 'The store could not be read or written.', 'Check the disk and the permissions of its folder.'),
  InternalError: permanent('ExtensionHost', 'host', 'Bulkhead failed.', 'Report it with the message.'),
} as const satisfies Record<string, ErrorRow>)

export type ErrorCode = keyof typeof ERRORS

const codes: ReadonlyMap<string, ErrorRow> = new Map(Object.entries(ERRORS))
export const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && codes.has(value)

const brand = Symbol.for('bulkhead.error')

/** The only error class of Bulkhead. Its code is a row of the error table, which gives class, fault and retryable. */
export class BulkheadError extends Error {
  override readonly name = 'BulkheadError'
  readonly code: ErrorCode
  /** Facts for programs: a path, a limit, a name. Plain data, safe to log and to send. */
  readonly data: Json | undefined

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown; readonly data?: Json } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.data = options.data
    Object.defineProperty(this, brand, { value: true })
  }

  get class(): ErrorClass {
    return ERRORS[this.code].class
  }

  get fault(): ErrorFault {
    return ERRORS[this.code].fault
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable
  }

  /** Unlike `instanceof`, also true for errors of another copy of this package. Contract: never throws. */
  static is(value: unknown): value is BulkheadError {
    try {
      if (typeof value !== 'object' || value === null || !(brand in value)) return false
      return isErrorCode((value as { code?: unknown }).code)
    } catch {
      // A foreign proxy or accessor threw.
      return false
    }
  }

  /** Wraps any thrown value. Contract: never throws, not even for hostile values. */
  static from(thrown: unknown, code: ErrorCode = 'InternalError'): BulkheadError {
    return BulkheadError.is(thrown) ? thrown : new BulkheadError(code, messageOf(thrown), { cause: thrown })
  }
}

/** Throws ConfigInvalid for the first invalid option of the function `called`. Options in `needed` are required. */
export function requireOptions<Options extends object>(
  called: string, options: Options, table: OptionForms<Options>, ...needed: readonly (keyof Options & string)[]
): void {
  const fault = findOptionFault(called, options, table, needed)
  if (fault) throw new BulkheadError('ConfigInvalid', fault.message, { data: { path: fault.path } })
}

/** The stages of loading an extension, in order. The first failure stops it. */
export const VALIDATION_STAGES = [
  'locate', 'trust', 'read', 'shape', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'integrity',
  'signature', 'lock', 'register',
] as const
export type ValidationStage = (typeof VALIDATION_STAGES)[number]

/** Why something was disabled, or a warning: the stage, the place and the cure. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly layer: Layer
  /** null for a fault of the layer itself, such as its configuration. */
  readonly extensionId: string | null
  /** The folder or file, for people. */
  readonly location: string
  /** JSON Pointer inside the manifest or configuration. */
  readonly path: string
  readonly message: string
  readonly cure: string
  /** Set if an extension with the same id in a lower layer is used instead. */
  readonly fallbackTo?: Layer
}
