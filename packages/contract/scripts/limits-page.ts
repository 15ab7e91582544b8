import type { ErrorCode } from '../src/model/errors.ts'
import { ANSWER_LIMITS, CALL_LIMITS, COMPARTMENT_LIMITS, MANIFEST_LIMITS, MCP_HTTP_LIMITS, RECORD_LIMITS, WORKER_LIMITS } from '../src/model/limits.ts'

const INTRODUCTION = `# Limits

Generated from \`packages/contract/src/model/limits.ts\`. Exceeding a limit gives an error with a code; for compartment limits \`data.limit\` is the
limit's name. Only the part of a result that a model sees is cut without an error: \`metadata.truncated\` is set, and \`output_path\` names the file
with the whole result, or with its beginning if \`output_cut\` is set. See [long results](../guides/tools.md#long-results).

## Compartment
Set them with \`limits\` in the configuration for all extensions, with \`extensions.<id>.limits\` for one. \`memoryMb\` and \`cpuMs\` are measured in
placement \`process\` only; a thread shares both with the host.

| Name | Default | Meaning | Error |
|---|---|---|---|
`

const AFTER = `
- Objects, strings and arrays count as heap; buffers and WebAssembly memory count only towards \`memoryMb\`. If \`heapMb\` is above what
  \`memoryMb\` leaves, an allocation that the system refuses is reported as heap.
- The compartment's own code keeps \`messageBytes\`, \`messagesPerSecond\` and \`outstandingRequests\`: a message that is too large is rejected in
  the tool, and requests beyond a rate wait. Only code that bypasses it exceeds them, and is killed.
- \`progress\` and \`update\` arrive in order and before the outcome. Log lines that come too fast are dropped and counted; beyond \`logBytes\` a last
  line with the code \`LogTruncated\` follows.
- \`readBytes\`, \`writtenBytes\`, \`sentBytes\`, \`savedBytes\` and \`nestedCalls\` count per attempt. What would exceed one is denied before it
  happens. What commands read, write and send is not counted.
- The result of a nested call arrives whole, or fails with \`OutputTooLarge\` above \`outputBytes\`. A bundled tool that returns only both ends of long output says so in its result (\`truncated\`, \`last\`).
- The next call restarts a killed compartment; see [quarantine](../guides/lifecycle.md) for one that keeps crashing.

## Call
| Name | Value | Meaning | Error |
|---|---|---|---|
`

/** Limits without an error truncate the result, which the outcome reports. */
type Row = readonly [most: number, meaning: string, error?: ErrorCode]

const CALL: Readonly<Record<Exclude<keyof typeof CALL_LIMITS, 'judgeMs'>, Row>> = {
  idChars: [CALL_LIMITS.idChars, 'Length of the id of a call, in characters.', 'InputInvalid'],
  sessionIds: [CALL_LIMITS.sessionIds, 'Ids of earlier calls that a session knows. A second call with one of them is refused.', 'InputInvalid'],
  argumentChars: [CALL_LIMITS.argumentChars, 'Arguments of a call, in characters of JSON.', 'InputInvalid'],
  argumentDepth: [CALL_LIMITS.argumentDepth, 'Nesting depth of the arguments.', 'InputInvalid'],
  argumentNodes: [CALL_LIMITS.argumentNodes, 'Number of values in the arguments.', 'InputInvalid'],
  defaultTimeoutMs: [
    CALL_LIMITS.defaultTimeoutMs,
    'Deadline of a call without `timeoutMs`, in milliseconds. It includes waiting for the extension to start and for a free slot, and does not run while a person is asked.',
    'ExecutionTimeout',
  ],
  maxTimeoutMs: [CALL_LIMITS.maxTimeoutMs, 'The largest `timeoutMs` of a call, in milliseconds.', 'InputInvalid'],
  attempts: [CALL_LIMITS.attempts, 'Attempts of a call that fails with an error that may pass. `retries` in the configuration sets it.', 'MaxRetriesExceeded'],
  backoffBase: [CALL_LIMITS.backoffBase, 'Pause after attempt n, in seconds: this to the power of n. `retries` in the configuration sets it.'],
  jitterMs: [CALL_LIMITS.jitterMs, 'The most that is added to such a pause at random, in milliseconds.'],
  waitingPerSlot: [
    CALL_LIMITS.waitingPerSlot,
    'Calls of one session that may wait for an extension, for each of its `concurrentCalls`. `callAll` waits itself.',
    'TooManyCalls',
  ],
  approvalKeyBytes: [CALL_LIMITS.approvalKeyBytes, 'Length of an approval key, in bytes.', 'ApprovalKeyInvalid'],
  listedUses: [CALL_LIMITS.listedUses, 'Uses of capabilities that the event of the end of a call lists. Further ones are counted.'],
  argumentChanges: [CALL_LIMITS.argumentChanges, 'How often watchdogs and guards may change the arguments.', 'ArgumentsUnsettled'],
  policyMs: [CALL_LIMITS.policyMs, 'Time for a watchdog, a guard or a before-hook to answer, in milliseconds.', 'WatchdogDenied'],
  subagentDepth: [CALL_LIMITS.subagentDepth, 'Nesting depth of sub-agents.', 'SubagentDepthExceeded'],
  shownBytes: [CALL_LIMITS.shownBytes, 'How much of a result a model sees, in bytes, unless the tool sets `maxOutput`.'],
  sessionSavedBytes: [CALL_LIMITS.sessionSavedBytes, 'All results of a session that are saved to files, in bytes. Further results are cut and not saved.', 'TooManyBytesSaved'],
  shownImages: [CALL_LIMITS.shownImages, 'Images, sounds and binary resources of a result that a model sees.'],
}

const PACKAGE: Readonly<Record<keyof typeof MANIFEST_LIMITS, Row>> = {
  manifestBytes: [MANIFEST_LIMITS.manifestBytes, 'Size of the manifest, in bytes.', 'ShapeInvalid'],
  tools: [MANIFEST_LIMITS.tools, 'Tools of one extension.', 'ShapeInvalid'],
  connectedTools: [MANIFEST_LIMITS.connectedTools, 'Tools of one MCP server or OpenAPI document.', 'ShapeInvalid'],
  descriptionChars: [MANIFEST_LIMITS.descriptionChars, 'Length of a description, in characters.', 'ShapeInvalid'],
  schemaChars: [MANIFEST_LIMITS.schemaChars, 'Length of a JSON Schema, in characters.', 'ConfigSchemaInvalid'],
  schemaDepth: [MANIFEST_LIMITS.schemaDepth, 'Nesting depth of a JSON Schema.', 'ConfigSchemaInvalid'],
  subschemas: [MANIFEST_LIMITS.subschemas, 'Schemas inside a JSON Schema.', 'ConfigSchemaInvalid'],
  subschemasPerExtension: [MANIFEST_LIMITS.subschemasPerExtension, 'Schemas inside all JSON Schemas of one extension.', 'ConfigSchemaInvalid'],
  inPlaceSubschemas: [MANIFEST_LIMITS.inPlaceSubschemas, 'Schemas that apply to one value, references included.', 'ConfigSchemaInvalid'],
  patternChars: [MANIFEST_LIMITS.patternChars, 'Length of a `pattern`, in characters. A longer one is not enforced, with a warning.', 'ConfigSchemaInvalid'],
  files: [MANIFEST_LIMITS.files, 'Files of a package.', 'PackageUnsafe'],
  fileBytes: [MANIFEST_LIMITS.fileBytes, 'Size of one file, in bytes.', 'PackageUnsafe'],
  packageBytes: [MANIFEST_LIMITS.packageBytes, 'Size of all files, in bytes.', 'PackageUnsafe'],
}

const MCP_HTTP: Readonly<Record<keyof typeof MCP_HTTP_LIMITS, readonly [meaning: string, then: string]>> = {
  connections: ['Connections in all.', 'A new one is closed, unless one without a token or without a request can be closed instead'],
  connectionsWithoutToken: ['Connections that have not presented a valid token. The other quarter is for clients with one.', 'The oldest one is closed'],
  connectionsPerAddress: ['The same from one address.', 'The oldest one is closed'],
  connectionsPerToken: ['Connections with one token, streams included.', 'One without a request is closed, otherwise 503'],
  headersMs: ['Time until the headers of a request have arrived, and for the TLS handshake, in milliseconds.', '408, and the connection is closed'],
  requestMs: ['Time until a whole request has arrived, in milliseconds.', '408, and the connection is closed'],
  bodyBytes: ['Body of a request, in bytes.', '413, and the connection is closed'],
  sessionsPerToken: ['Sessions of the older protocol era with one token (`maxSessions`). One that has not made a call yet is not replaced.', 'The one that was idle for longest ends, otherwise 503'],
  eventsPerSession: ['Events of streams that a session of the older protocol era keeps for a client that connects again (`Last-Event-ID`).', 'The oldest leave. A client that needs them gets 410'],
  eventBytesPerSession: ['The same, in bytes.', 'The oldest leave'],
  eventsPerToken: ['Events that all sessions with one token keep.', 'The oldest leave, of any session'],
  eventBytesPerToken: ['The same, in bytes.', 'The oldest leave, of any session'],
}

const ANSWER: Readonly<Record<keyof typeof ANSWER_LIMITS, readonly [meaning: string, then: string]>> = {
  webhookMs: ['Time for the webhook to connect and to answer a message, in milliseconds.', 'The attempt failed'],
  webhookAttempts: ['Attempts to send a message: again after 1, 4 and 16 seconds, also if the status is not 2xx.', 'It is not sent again, and a warning is printed'],
  bodyBytes: ['Body of an answer, in bytes.', '413'],
  headersMs: ['Time until the headers of a request have arrived, in milliseconds.', '408, and the connection is closed'],
  requestMs: ['Time until a whole request has arrived, in milliseconds.', '408, and the connection is closed'],
  linkMinutes: ['How long a link works, in minutes (`--minutes`).', '410'],
}

const WORKERS: Readonly<Record<keyof typeof WORKER_LIMITS, readonly [meaning: string, then: string]>> = {
  leaseMs: ['How long a worker that does not answer keeps its calls, in milliseconds.', 'The call runs on another worker, or is `OutcomeUnknown`'],
  renewals: ['How often a worker renews its lease while it lasts. One statement renews it for all its calls.', 'The lease ends'],
  capacity: ['Calls that a worker runs at once (`--capacity`).', 'Further calls wait until their deadline: `NoWorkerReady`'],
  idleCompartments: ['Compartments without a call that a worker keeps open.', 'The one that was idle for longest ends'],
  messageBytes: ['One request, answer or note between a caller and a worker, in bytes of JSON. The arguments of a call are not limited by it.', '`MessageTooLarge`'],
  partBytes: ['Size of a result that one statement sends, in bytes.', 'It is sent in parts of this size'],
  resultBytes: ['One result of a worker, with its signature, in bytes.', '`OutputTooLarge`'],
  losses: ['Workers that one call may lose before it began anything, or that an idempotent call may lose.', '`CompartmentCrashed`'],
  callMs: ['Deadline of a ticket for a call without one, in milliseconds.', '`WorkerRefused`'],
  skewMs: ['By how much the clocks of a caller and a worker may differ, in milliseconds. Only the age of tickets depends on it.', '`WorkerRefused`'],
}

const RECORD: Readonly<Record<keyof typeof RECORD_LIMITS, string>> = {
  files: 'Files and links in all folders together, and as many folders.',
  bytes: 'Content that has to be copied, in bytes. Files that the file system can clone, and files over 32 MiB, do not count.',
  folderDepth: 'Folders in each other.',
}

const lines = (rows: Readonly<Record<string, Row>>): string => Object.entries(rows)
  .map(([name, [most, meaning, error]]) => `| \`${name}\` | ${grouped(most)} | ${meaning} | ${error === undefined ? 'cut: `truncated`' : `\`${error}\``} |\n`).join('')

const consequences = <Name extends string>(
  rows: Readonly<Record<Name, readonly [meaning: string, then: string]>>, limits: Readonly<Record<Name, number>>,
): string => Object.entries<readonly [string, string]>(rows)
  .map(([name, [meaning, then]]) => `| \`${name}\` | ${grouped(limits[name as Name])} | ${meaning} | ${then} |\n`).join('')

/** Independent of the locale of the machine. */
const grouped = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')

/** docs/reference/limits.md, in the order of the tables. */
export function limitsPage(): string {
  const compartment = Object.fromEntries(Object.entries(COMPARTMENT_LIMITS)
    .map(([name, { most, meaning, error }]) => [name, [most, meaning, error] as const]))
  return INTRODUCTION + lines(compartment) + AFTER + lines(CALL)
    + '\n## Undo of commands\nOf the folders that a command may write. Beyond a limit the question says "not recorded", and the command runs all the same;\n'
    + 'more in the [guide](../guides/undo.md#commands).\n\n| Name | Value | Meaning |\n|---|---|---|\n'
    + Object.entries(RECORD).map(([name, meaning]) =>
      `| \`${name}\` | ${grouped(RECORD_LIMITS[name as keyof typeof RECORD_LIMITS])} | ${meaning} |\n`).join('')
    + '\n## Package\n| Name | Value | Meaning | Error |\n|---|---|---|---|\n' + lines(PACKAGE)
    + '\n## Workers\nOf calls on [workers](../explanation/scale.md#calls-on-workers).\n\n'
    + '| Name | Value | Meaning | Beyond it |\n|---|---|---|---|\n' + consequences(WORKERS, WORKER_LIMITS)
    + '\n## Answers from elsewhere\nOf `bulkhead waiting serve`; more in the [guide](../guides/approvals.md#answer-from-anywhere).\n\n'
    + '| Name | Value | Meaning | Beyond it |\n|---|---|---|---|\n' + consequences(ANSWER, ANSWER_LIMITS)
    + '\n## MCP over HTTP\nOf `bulkhead mcp --http` and `serveToolsOverHttp`; more in the [guide](../guides/mcp.md#limits).\n\n'
    + '| Name | Value | Meaning | Beyond it |\n|---|---|---|---|\n'
    + consequences(MCP_HTTP, MCP_HTTP_LIMITS)
}
