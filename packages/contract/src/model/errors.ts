/**
 * Every failure the system can name. Adding one is adding a row; docs/reference/errors.md is written from this table and a test
 * keeps both equal.
 *
 * class: whose rule was broken, in the words models and embedders branch on.
 * fault: who can do something about it.
 * retryable: whether the very same call may succeed later.
 */
export type ErrorClass = 'Validation' | 'ToolTransient' | 'ToolTerminal' | 'Session' | 'Cancellation' | 'ExtensionHost'
export type ErrorFault = 'caller' | 'policy' | 'extension' | 'host' | 'person'

export interface ErrorRow {
  readonly class: ErrorClass
  readonly fault: ErrorFault
  readonly retryable: boolean
  readonly meaning: string
  readonly cure: string
}

const row = (cls: ErrorClass, fault: ErrorFault, retryable: boolean, meaning: string, cure: string): ErrorRow =>
  Object.freeze({ class: cls, fault, retryable, meaning, cure })

const once = false
const again = true

export const ERRORS = Object.freeze({
  // Manifest, package and configuration: the loader's stages.
  ShapeInvalid: row('Validation', 'extension', once, 'The manifest is missing, unreadable, or not of the declared form.', 'Correct the field at the given path; the manifest schema completes it in an editor.'),
  ContractVersionMismatch: row('Validation', 'extension', once, 'The manifest is written for a contract this host does not speak.', 'Publish for a compatible contractVersion, or use a host that has it.'),
  RequiredCoreVersionMismatch: row('Validation', 'extension', once, 'The host version lies outside requiredCoreVersion.', 'Update the host, or widen the range after testing.'),
  ConfigSchemaInvalid: row('Validation', 'extension', once, 'A JSON Schema in the manifest cannot be compiled or breaks a rule for such schemas.', 'Correct the schema at the given path.'),
  SchemaCheckUnavailable: row('Session', 'host', again, 'The schemas of an extension could not be checked, since no thread could be started for that.', 'Let the host start threads (where Node runs with --permission, by --allow-worker), and load again.'),
  ConfigInvalid: row('Validation', 'caller', once, 'A configuration file or value is not of the documented form.', 'Correct the key at the given path.'),
  ConfigSchemaViolation: row('Validation', 'caller', once, 'The configuration given to an extension or tool does not satisfy its configSchema.', 'Correct the value at the given path, or remove it.'),
  RequirementInvalid: row('Validation', 'extension', once, 'A requirement uses an unknown variable or a pattern that cannot be compiled.', 'Use {workspace}, {ad-hoc} or {user-data}, and the documented pattern forms.'),
  TextSuspicious: row('Validation', 'extension', once, 'A text that models are told has characters that cannot be seen, or reads like orders to them.', 'Read the text as it is shown; use the extension only if you know why it says so.'),
  RegistrationConflict: row('Validation', 'extension', once, 'Two extensions of one layer claim the same id or tool name; both are refused.', 'Rename or disable one of them.'),
  LockedIdRedefined: row('Validation', 'extension', once, 'A tool takes a locked name with another input schema or more powers.', 'Give the tool a name of its own.'),
  DependencyMissing: row('Validation', 'extension', once, 'An extension depends on one that is not there.', 'Install or enable the missing extension.'),
  DependencyCycle: row('Validation', 'extension', once, 'Extensions depend on each other in a circle.', 'Break the circle named in the message.'),
  IntegrityFailed: row('Validation', 'extension', once, 'The bytes on disk are not the bytes that were vouched for.', 'Install the package again from where it came from; what you have changed yourself, pack again.'),
  IntegrityTokenMissing: row('Validation', 'policy', once, 'The policy wants an integrity file and the package has none.', 'Pack the extension so that it carries one, or relax the policy for its layer.'),
  SignatureInvalid: row('Validation', 'extension', once, 'A signature is missing, does not verify, or is by someone else than pinned.', 'Check who published the package; pin the new identity only if you know it.'),
  PackageUnsafe: row('Validation', 'extension', once, 'The package holds a link, a special file, too many bytes, or names that collide.', 'Ship plain files only, within the documented limits.'),
  DuplicateJsonKey: row('Validation', 'extension', once, 'A JSON file names one key twice in one object.', 'Remove one of them.'),
  UsageInvalid: row('Validation', 'caller', once, 'The command line itself is wrong; nothing was done.', 'Correct it as the usage says; `--help` tells more.'),
  ExtensionNotFound: row('Validation', 'caller', once, 'No extension of that id is loaded.', 'List what is loaded with `bulkhead tools`.'),
  InstallSourceInvalid: row('Validation', 'caller', once, 'What should be installed is neither a folder, a tarball nor a package name with a version.', 'Name a folder such as ./weather, a tarball such as weather-1.4.0.tgz, or a package that the registry has.'),
  ConsentRequired: row('Validation', 'person', once, 'A version wants more powers, or has another signer, than what was accepted.', 'Look at the difference and accept it.'),
  LockInvalid: row('Validation', 'caller', once, 'bulkhead.lock cannot be read, so that it is not known what was accepted; nothing of its layer is loaded.', 'Restore the file, or remove it and install again.'),
  LockMismatch: row('Validation', 'extension', once, 'What is there is not what was accepted, or what was accepted is not there.', 'Install the accepted version again, or look at this one and accept it with `bulkhead install`.'),
  UpdateRefused: row('Validation', 'policy', once, 'The policy forbids this update: it wants more powers without a new major version, or more powers at all.', 'Stay with the accepted version, ask the publisher, or change policy.update.widening.'),
  InstallSourceUnavailable: row('Session', 'host', again, 'The registry, or what it names, cannot be reached or answers with an error.', 'Check the address of the registry and the network, and try again.'),
  InstallBusy: row('Session', 'caller', again, 'Another process is installing into the same layer.', 'Wait for it to end.'),
  InstallFailed: row('Session', 'host', again, 'The layer could not be written; what was there before is untouched.', 'Check the disk and the permissions of the folder named in the message.'),
  ProjectTrustRequired: row('Session', 'person', once, 'The project has a layer of its own that nobody has trusted; nothing in it was read.', 'Look at the folder, then trust it: `bulkhead trust` there, or `trust` of `createHost`.'),
  ProjectPathInvalid: row('Validation', 'caller', once, 'The workspace is not a folder that can be opened.', 'Pass the path of an existing folder.'),
  TrustStoreUnavailable: row('Session', 'host', again, 'The record of trusted projects cannot be read or written.', 'Check the permissions of the folder named in the message.'),
  TrustEntryInvalid: row('Validation', 'host', once, 'An entry in the record of trusted projects is malformed and was not honoured.', 'Remove the entry and decide again.'),
  TrustScopeViolation: row('Validation', 'host', once, 'The record of trusted projects would lie inside a project, which could then trust itself.', 'Keep the folder of the global layer outside the project.'),
  AllowlistWithoutMode: row('Validation', 'caller', once, 'Allowlist entries are configured but no layer sets the mode to allowlist.', 'Set mode to allowlist, or remove the entries.'),

  // A call, before it reaches a tool.
  ToolNotRegistered: row('ToolTerminal', 'caller', once, 'No enabled tool has that name.', 'Use one of the names in the list of tools.'),
  ToolsDisabled: row('ToolTerminal', 'policy', once, 'Tools are switched off for this session or by configuration.', 'Switch them on, or answer without tools.'),
  InputInvalid: row('ToolTerminal', 'caller', once, 'The arguments do not satisfy the input schema of the tool.', 'Correct the argument at the given path and call again.'),
  CapabilityDenied: row('ToolTerminal', 'policy', once, 'The call reached for something outside the grant of its tool.', 'Declare it in `requires`, or ask the operator to raise the ceiling.'),
  CapabilityUnavailable: row('ExtensionHost', 'host', once, 'A declared capability cannot be enforced here, so it is not given at all.', 'Use a host, platform or placement that enforces it, or drop the declaration.'),
  RoleDenied: row('ToolTerminal', 'policy', once, 'A role flag forbids this tool to the role of the session.', 'Use another role, or change the flag.'),
  RuleDenied: row('ToolTerminal', 'policy', once, 'A permission rule forbids this call.', 'See `explain` for the rule and its source.'),
  WatchdogDenied: row('ToolTerminal', 'policy', once, 'A watchdog refused the call.', 'Act on its reason.'),
  GuardDenied: row('ToolTerminal', 'policy', once, 'A guard refused the call, or failed while judging it.', 'Act on its reason.'),
  ArgumentsUnsettled: row('ToolTerminal', 'policy', once, 'Watchdogs or guards went on changing the arguments of the call.', 'Make them agree: what one of them makes of the arguments, the others must leave alone.'),
  ApprovalDenied: row('ToolTerminal', 'person', once, 'A person was asked and said no, or nobody could be asked.', 'Take the reason into account; do not ask the same again.'),
  ApprovalKeyInvalid: row('Validation', 'extension', once, 'The approval key is empty, too long, or has control characters.', 'Where an argument makes it too long, call with a shorter one; else the author of the tool corrects the template or deriveApprovalKey.'),
  ApprovalKeyDerivationFailed: row('ToolTerminal', 'extension', once, 'deriveApprovalKey threw, took too long, or did not return a text.', 'Correct deriveApprovalKey; it must be quick and deterministic.'),
  CommandRejected: row('ToolTerminal', 'policy', once, 'A command is on the list of those that are never run.', 'Reach the aim by other means.'),
  SubagentDepthExceeded: row('ToolTerminal', 'policy', once, 'Sub-agents are nested as deep as they may be.', 'Do the work in the present session.'),
  BudgetExhausted: row('Session', 'policy', once, 'The token or call budget of this workflow is used up.', 'Finish with what is known, or raise the budget.'),
  HookVetoed: row('ToolTerminal', 'policy', once, 'A before-hook skipped the call.', 'Do without the call.'),
  SkippedBySteering: row('Cancellation', 'person', once, 'A queued message of the user came before this call.', 'Read the message first.'),

  // A call, in the tool.
  ToolExecutionFailed: row('ToolTerminal', 'extension', once, 'The tool ran and reported or threw an error.', 'Read the message of the tool.'),
  ResourceBusy: row('ToolTransient', 'extension', again, 'The tool reported that what it needs is busy.', 'Try again a little later.'),
  NotFound: row('ToolTerminal', 'caller', once, 'What the arguments name does not exist.', 'Check the name or path.'),
  OutputMalformed: row('ToolTerminal', 'extension', once, 'The tool returned something that is not JSON.', 'Return plain data.'),
  OutputTooLarge: row('ToolTerminal', 'extension', once, 'The result is larger than the limit for results.', 'Return less, or write it to a file.'),
  TooManyBytesRead: row('ToolTerminal', 'extension', once, 'The call read more bytes from files and responses than one call may.', 'Do less in one call, or raise readBytes for this extension.'),
  TooManyBytesWritten: row('ToolTerminal', 'extension', once, 'The call wrote more bytes to files than one call may.', 'Do less in one call, or raise writtenBytes for this extension.'),
  TooManyBytesSent: row('ToolTerminal', 'extension', once, 'The call sent more bytes to hosts and commands than one call may.', 'Do less in one call, or raise sentBytes for this extension.'),
  TooManyBytesSaved: row('ToolTerminal', 'extension', once, 'A result was longer than may be saved to a file, or its session has saved as much as it may; the result is cut.', 'Ask for less, raise savedBytes for this extension, or open another session.'),
  TooManyNestedCalls: row('ToolTerminal', 'extension', once, 'The call made more calls of other tools than one call may.', 'Do less in one call, or raise nestedCalls for this extension.'),
  ExecutionTimeout: row('ToolTransient', 'extension', again, 'The tool did not answer before the deadline.', 'Ask for less, or give it more time.'),
  MaxRetriesExceeded: row('ToolTransient', 'extension', again, 'Every attempt failed with a passing error.', 'Try again later.'),
  CallInterrupted: row('Session', 'host', once, 'The host ended while the call was open; nobody knows how far it came.', 'Look at what it has done before calling again.'),
  ServerUnavailable: row('ToolTransient', 'extension', again, 'The server behind the tool cannot be reached; the call has not come to it.', 'Go on without the tool, or try again after the time in the message; `bulkhead tools --connect` says what is wrong with the server.'),
  ServerLost: row('ExtensionHost', 'extension', again, 'The server behind the tool ended, or could no longer be reached, while the call ran; nobody knows how far it came.', 'Look at what the call has done before calling again.'),
  ToolDefinitionChanged: row('ToolTerminal', 'extension', once, 'The server behind the tool now says something else of it than what was offered and approved; the call was not sent.', 'Read the description again in the next turn, where what was approved before is asked anew.'),
  TooManyCalls: row('ToolTransient', 'host', again, 'As many calls run in the compartment as may, and as many of the session wait for it as may.', 'Wait for some of them.'),

  // Cancellation, from the outside in.
  SessionCancelled: row('Cancellation', 'person', once, 'The session was cancelled or closed.', 'Open another session.'),
  TurnCancelled: row('Cancellation', 'person', once, 'The turn was cancelled.', 'Begin another turn.'),
  ToolCancelled: row('Cancellation', 'person', once, 'The call was cancelled.', 'Call again if it is still wanted.'),
  TurnInvalid: row('Session', 'caller', once, 'A turn was begun inside of another, or ended where there is none.', 'End each turn before the next one begins.'),
  HostClosed: row('Session', 'caller', once, 'The host is closed or closing.', 'Create another host.'),

  // Compartments and the boundary.
  CompartmentStartFailed: row('ExtensionHost', 'extension', again, 'The code of the extension could not be imported.', 'Read the message; `node --check` on each file shows where its syntax is wrong.'),
  CompartmentStartTimeout: row('ExtensionHost', 'extension', again, 'The code of the extension was not imported in time.', 'Do less while it is imported, or raise startMs for this extension.'),
  NoPlaceFree: row('ExtensionHost', 'host', again, 'There is no place for one more compartment: as many run as the host may have, or the system has no room for another.', 'Try again later, allow the host more of them, or give it more processes, descriptors and memory.'),
  CompartmentCrashed: row('ExtensionHost', 'extension', again, 'The compartment ended by itself while it was needed.', 'The next call starts it again; tell the publisher if it goes on.'),
  CompartmentKilled: row('ExtensionHost', 'extension', again, 'The compartment was ended because another call in it broke a limit.', 'Call again.'),
  CompartmentGone: row('ExtensionHost', 'host', again, 'The compartment ended before the call was sent to it; the call has not run.', 'Call again: the next call starts it again.'),
  CompartmentOutOfHeap: row('ExtensionHost', 'extension', once, 'The objects of the extension needed more heap than its thread may have.', 'Ask for less, or raise heapMb for this extension.'),
  CompartmentOutOfMemory: row('ExtensionHost', 'extension', once, 'The process of the compartment used more memory than it may, buffers among it.', 'Ask for less, or raise memoryMb for this extension.'),
  CompartmentOverloaded: row('ExtensionHost', 'extension', once, 'The compartment used more processor time than it may.', 'Ask for less, or raise cpuMs for this extension.'),
  CompartmentQuarantined: row('ExtensionHost', 'extension', again, 'The extension died too often and rests before it is started again.', 'Wait for the time in the message.'),
  LockdownFailed: row('ExtensionHost', 'host', once, 'The compartment could prove that a power it must not have is still there, so it was not used.', 'Report this with the version of Node.'),
  BoundaryViolation: row('ExtensionHost', 'extension', once, 'The compartment sent something the protocol does not allow and was killed.', 'Do not use this version; tell the publisher.'),
  MessageTooLarge: row('ExtensionHost', 'extension', once, 'A message of the compartment, or of the server behind the tool, was larger than it may be.', 'Send less at once, or raise messageBytes for this extension; that of a server is fixed.'),
  MessageFlood: row('ExtensionHost', 'extension', once, 'The compartment sent more messages in a second than it may, and was killed.', 'Send fewer, or raise messagesPerSecond for this extension.'),
  TooManyRequests: row('ExtensionHost', 'extension', once, 'The compartment had more capability calls open at once than it may, and was killed.', 'Wait for answers, or raise outstandingRequests for this extension.'),
  LogTruncated: row('ExtensionHost', 'extension', once, 'The compartment logged more than is kept; what it logs from there on is dropped.', 'Log less, or raise logBytes for this extension.'),
  BuiltinDenied: row('ExtensionHost', 'extension', once, 'The code imports a module that compartments do not have.', 'Declare the capability named in the message and use `runtime`.'),
  ModuleNotFound: row('ExtensionHost', 'extension', once, 'The code imports a module that is not among the verified files.', 'Bundle dependencies when packing.'),
  ExportsMismatch: row('ExtensionHost', 'extension', once, 'What the code offers is not what the manifest declares.', 'Make both name the same tools with the same schemas and requirements.'),

  // Lifecycle, state, interaction.
  LifecycleFailure: row('ExtensionHost', 'extension', again, 'A lifecycle phase of the extension threw.', 'Read the message; the state is as it was before.'),
  LifecycleTimeout: row('ExtensionHost', 'extension', again, 'A lifecycle phase took longer than it may.', 'Do less in the phase, or raise phaseMs.'),
  LifecyclePhaseInvalid: row('ExtensionHost', 'host', once, 'A phase was asked for that cannot follow the present state.', 'This is a fault of the host; report it.'),
  ReloadRefused: row('ExtensionHost', 'extension', once, 'The extension declares that it is never reloaded.', 'Restart the host.'),
  SlotAccessDenied: row('ExtensionHost', 'extension', once, 'An extension reached for a state slot it did not declare.', 'Declare stateSlot; only the own slot can be reached.'),
  SlotVersionMissing: row('Validation', 'host', once, 'A stored state has no version.', 'Remove the record that the message names from the collection `state` of the store.'),
  SlotDriftRejected: row('Session', 'extension', once, 'The stored state is of another version and the extension rejects drift.', 'Use the version that wrote it, or one that takes it over; or remove the record that the message names from the collection `state` of the store.'),
  SlotMigrationFailed: row('Session', 'extension', once, 'The extension could not bring its stored state to the present version.', 'Tell the publisher; the stored state is untouched.'),
  StateInvalid: row('ToolTerminal', 'extension', once, 'The state to be written does not satisfy the declared schema.', 'Write what the schema says.'),
  EnvNameUndeclared: row('ToolTerminal', 'extension', once, 'The tool asked for a variable that its manifest does not name.', 'Add the name to `env`.'),
  EnvNameNotSet: row('ToolTerminal', 'caller', once, 'A declared variable has no value here.', 'Set the variable for the host.'),
  InteractionUnavailable: row('Session', 'host', once, 'Nobody is there to be asked.', 'Go on with a best guess, or run with a person present.'),
  InteractionTimeout: row('Session', 'person', again, 'Nobody answered in time.', 'Ask again.'),
  InteractionAlreadyAnswered: row('Session', 'caller', once, 'An answer came after the question was settled.', 'Nothing needs doing.'),
  ClarificationNeeded: row('Session', 'person', once, 'A tool asked a question that nobody has answered yet; it is kept, and the call waits.', 'Answer it with `resume`; the call goes on from there.'),
  StoreUnavailable: row('Session', 'host', again, 'The store could not be read or written.', 'Check the disk and the permissions of its folder.'),
  InternalError: row('ExtensionHost', 'host', once, 'Bulkhead itself failed.', 'Report it with the message.'),
} as const satisfies Record<string, ErrorRow>)

export type ErrorCode = keyof typeof ERRORS

const codes: ReadonlyMap<string, ErrorRow> = new Map(Object.entries(ERRORS))
export const isErrorCode = (value: unknown): value is ErrorCode => typeof value === 'string' && codes.has(value)

/** Whether a message has given its own advice, as one of several sentences does: the table's would repeat it, or speak of other cases. */
export const givesAdvice = (message: string): boolean => SEVERAL_SENTENCES.test(message)
const SEVERAL_SENTENCES = /[.!?] \p{Lu}/u
