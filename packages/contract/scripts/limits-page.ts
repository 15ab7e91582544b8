import type { ErrorCode } from '../src/errors.ts'
import { CALL_LIMITS, COMPARTMENT_LIMITS, MANIFEST_LIMITS } from '../src/limits.ts'

const INTRODUCTION = `# Limits

What a compartment, a call and a package may use. This page is written from \`packages/contract/src/limits.ts\` by
\`pnpm generate\`. Whoever meets a limit is told by an error with a code, and \`data.limit\` is the name of a limit of the compartment.
Only what a model is shown of a result is cut without one: \`metadata.truncated\` says so, and \`output_path\` where the whole is.

## Of a compartment
\`limits\` in the configuration sets them for all extensions, \`extensions.<id>.limits\` for one. Memory and processor time of the whole
are measured under the placement \`process\`; a thread shares both with the host.

| Name | Default | Meaning | Error |
|---|---|---|---|
`

const AFTER = `
- Objects, texts and arrays are heap; buffers and the memory of WebAssembly are not, and count as memory of the whole alone. Where
  \`heapMb\` lies above what \`memoryMb\` leaves, a heap that the system refuses to let grow is told as the heap.
- \`messageBytes\`, \`messagesPerSecond\` and \`outstandingRequests\` are kept by the compartment itself: a message that is too large is
  refused to the code that sends it, and what is too much at once or in a second waits for its turn. Only a compartment that
  goes around that meets them, and is killed.
- What is told by \`progress\` and \`update\` arrives in order and before the outcome. Lines of a log that come faster than they are
  taken are dropped and counted; beyond \`logBytes\` one last line, with the code \`LogTruncated\`, says that the rest is dropped.
- \`readBytes\`, \`writtenBytes\`, \`sentBytes\`, \`savedBytes\` and \`nestedCalls\` are counted for each attempt of a call. What goes beyond one of
  them is refused before it happens. What commands read, write and send by themselves is not counted.
- The result of a nested call arrives whole, or as \`OutputTooLarge\` above \`outputBytes\`; it is never cut and never saved to a file.
- A compartment that was killed is started again by the next call. [lifecycle.md](../guides/lifecycle.md) says how long one rests that keeps
  dying (\`CompartmentQuarantined\`).

## Of a call
| Name | Number | Meaning | Error |
|---|---|---|---|
`

/** No error: what is more is cut, and the outcome says so. */
type Row = readonly [most: number, meaning: string, error?: ErrorCode]

const CALL: Readonly<Record<keyof typeof CALL_LIMITS, Row>> = {
  argumentChars: [CALL_LIMITS.argumentChars, 'Arguments of a call, in characters of JSON.', 'InputInvalid'],
  argumentDepth: [CALL_LIMITS.argumentDepth, 'How deep arguments are nested.', 'InputInvalid'],
  argumentNodes: [CALL_LIMITS.argumentNodes, 'Values in the arguments.', 'InputInvalid'],
  defaultTimeoutMs: [
    CALL_LIMITS.defaultTimeoutMs,
    'Time for a call where nobody says `timeoutMs`, in milliseconds. It covers the wait for the extension to start and for a place, and stands still while a person is asked.',
    'ExecutionTimeout',
  ],
  maxTimeoutMs: [CALL_LIMITS.maxTimeoutMs, 'The longest `timeoutMs` a call may ask for, in milliseconds.', 'InputInvalid'],
  attempts: [CALL_LIMITS.attempts, 'How often a call is tried that failed in passing.', 'MaxRetriesExceeded'],
  approvalKeyBytes: [CALL_LIMITS.approvalKeyBytes, 'An approval key, in bytes.', 'ApprovalKeyInvalid'],
  argumentChanges: [CALL_LIMITS.argumentChanges, 'How often watchdogs and guards may put other arguments in place.', 'ArgumentsUnsettled'],
  judgeMs: [CALL_LIMITS.judgeMs, 'Time for a watchdog, a guard or a before-hook to answer, in milliseconds.', 'WatchdogDenied'],
  subagentDepth: [CALL_LIMITS.subagentDepth, 'How deep sub-agents are nested.', 'SubagentDepthExceeded'],
  shownBytes: [CALL_LIMITS.shownBytes, 'What of a result is given to a model where its tool does not say `maxOutput`, in bytes.'],
  sessionSavedBytes: [CALL_LIMITS.sessionSavedBytes, 'All results of one session that are saved to files, in bytes. A result beyond it is cut and not saved.', 'TooManyBytesSaved'],
  shownImages: [CALL_LIMITS.shownImages, 'Images of a result that are given to a model.'],
}

const PACKAGE: Readonly<Record<keyof typeof MANIFEST_LIMITS, Row>> = {
  manifestBytes: [MANIFEST_LIMITS.manifestBytes, 'The manifest, in bytes.', 'ShapeInvalid'],
  tools: [MANIFEST_LIMITS.tools, 'Tools of one extension.', 'ShapeInvalid'],
  descriptionChars: [MANIFEST_LIMITS.descriptionChars, 'A description, in characters.', 'ShapeInvalid'],
  files: [MANIFEST_LIMITS.files, 'Files of a package.', 'PackageUnsafe'],
  fileBytes: [MANIFEST_LIMITS.fileBytes, 'One file, in bytes.', 'PackageUnsafe'],
  packageBytes: [MANIFEST_LIMITS.packageBytes, 'All files together, in bytes.', 'PackageUnsafe'],
}

const lines = (rows: Readonly<Record<string, Row>>): string => Object.entries(rows)
  .map(([name, [most, meaning, error]]) => `| \`${name}\` | ${grouped(most)} | ${meaning} | ${error === undefined ? 'cut: `truncated`' : `\`${error}\``} |\n`).join('')

/** Not by the locale of whoever generates. */
const grouped = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')

/** docs/reference/limits.md, in the order of the tables. */
export function limitsPage(): string {
  const compartment = Object.fromEntries(Object.entries(COMPARTMENT_LIMITS)
    .map(([name, { most, meaning, error }]) => [name, [most, meaning, error] as const]))
  return INTRODUCTION + lines(compartment) + AFTER + lines(CALL)
    + '\n## Of a package\n| Name | Number | Meaning | Error |\n|---|---|---|---|\n' + lines(PACKAGE)
}
