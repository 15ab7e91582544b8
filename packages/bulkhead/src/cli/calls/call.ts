import { styleText } from 'node:util'
import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import {
  BulkheadError, CALL_LIMITS, PROGRAM_TOOL, type CommandVariable, type ExtensionDescriptor,
  type ErrorOutcome, type Outcome, type SecurityMode,
} from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import type { ExplainedStep, Explanation, ProgramTool, SessionOptions } from '@bulkhead/host'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Host } from '../../facade/create-host.ts'
import { type CommandOptions, defineCommand, ENDING_SIGNALS, UsageError, type ValuesOf } from '../command.ts'
import { readArguments } from './call-arguments.ts'
import { tellCut, withoutFile } from './cut-result.ts'
import { hint, jsonText, serverMeant, table, tellFaults } from '../output.ts'
import {
  canAsk, COMMON_OPTIONS, headlessOf, MODE_OPTION, openHost, refuseRoot, SOURCE_OPTIONS, STORE_OPTIONS, terminal, WAIT_OPTION,
  type SourceValues,
} from '../host-options.ts'
import { FailureTraces } from '../failure-traces.ts'
import { explainSurface } from './explain-surface.ts'
import { printOutcome } from '../print-outcome.ts'

const CALL_OPTIONS = {
  args: {
    type: 'string', value: 'JSON',
    text: 'arguments, a JSON object; or @FILE to read it from a file, or - from standard input (default: {})',
  },
  ...MODE_OPTION,
  agent: { type: 'string', value: 'NAME', completes: 'agent', text: 'open the session for this agent' },
} as const satisfies CommandOptions

const KEY_OPTION = {
  'idempotency-key': {
    type: 'string', value: 'KEY',
    text: 'run the call once: the same key prints the recorded outcome for 24 hours',
  },
} as const satisfies CommandOptions

const TOOL_NAME = { NAME: { text: 'name of a tool, as "bulkhead tools" lists it', completes: 'tool' } } as const

export const call = defineCommand({
  usage: '[DIR] NAME',
  operands: { ...TOOL_NAME, DIR: { text: 'folder of an extension, such as ./weather, to call its tool from there' } },
  options: {
    ...CALL_OPTIONS,
    timeout: {
      type: 'string', value: 'MS', whole: { least: 1, most: CALL_LIMITS.maxTimeoutMs, unit: 'milliseconds' },
      text: `timeout, from 1 to ${CALL_LIMITS.maxTimeoutMs} (default: from the configuration, else from the tool)`,
    },
    ...KEY_OPTION, ...WAIT_OPTION, ...STORE_OPTIONS, ...SOURCE_OPTIONS, ...COMMON_OPTIONS,
  },
  details: `With DIR, the extension in that folder is built as "bulkhead pack" does, and takes the place of an installed
one with its id for this call. It gets what it declares and nothing else; policy, rules and approvals apply as for every
other tool. An exception is not retried, and is shown with its stack, in the files that you wrote; with --json as
"stack".`,
  exits: ['if the call succeeded', 'if it failed'],
  examples: [
    { command: `bulkhead call read --args '{"path":"README.md","limit":5}'`, text: 'the first five lines of a file' },
    { command: `bulkhead call glob --args '{"pattern":"*.md"}' --json`, text: 'the whole outcome as JSON' },
    { command: `bulkhead call ./word-count word-count --args @arguments.json`, text: 'a tool that you work on' },
  ],

  async run({ values, positionals }) {
    const { folder, name } = readTarget(positionals)
    const request = {
      name, arguments: await readArguments(values.args), mode: values.mode, agent: values.agent,
      timeoutMs: values.timeout, idempotencyKey: keyOf(values), ...headlessOf(values),
    }
    if (folder === undefined) refuseRoot(values)
    const traces = new FailureTraces(folder)
    const extension = folder === undefined ? undefined : await readTool(folder, name, values)
    // One call needs no process for a next one.
    await using host = await openHost(values, true, false, { keepsSpares: false, onFailure: traces.listener })
    if (extension !== undefined) await (await import('../extension-source.ts')).offer(host, extension)
    const { outcome: whole, remedies } = await callOnce(host, await meantCall(host, request, true))
    const outcome = withoutFile(whole)
    printOutcome(outcome, values.json === true, traces)
    if (outcome.metadata.replayed) process.stderr.write(hint(REPLAYED))
    tellCut(outcome)
    if (outcome.type === 'output') return 0
    if (!values.json) process.stderr.write(remedyText(remedies))
    tellFaults(outcome.error.code, name, host)
    if (outcome.error.code === 'ApprovalDenied' && !canAsk()) process.stderr.write(hint(noTerminal(folder)))
    return 1
  },
})

/** Without its key, or where nothing records the outcome, the call would run each time. Throws UsageError. */
function keyOf(
  { 'idempotency-key': key, 'no-store': isForgotten }: ValuesOf<typeof KEY_OPTION & typeof STORE_OPTIONS>,
): string | undefined {
  if (key === '') throw new UsageError('--idempotency-key is empty. Name the call with 1 to 200 visible characters.')
  if (key === undefined || !isForgotten) return key
  throw new UsageError('--idempotency-key needs the store, which records the outcome. Leave out --no-store.')
}

const REPLAYED = 'This is the recorded outcome of an earlier call with this idempotency key. Nothing was run.\n'

const unexpected = (more: readonly string[]): UsageError =>
  new UsageError(`Unexpected argument "${more.join(' ')}". Name one tool, and pass its arguments with --args JSON.`)

/** A tool, or a folder and one of its tools. No tool name contains a dot or a slash. */
function readTarget(
  [first, ...more]: readonly string[],
): { readonly folder: string | undefined; readonly name: string } {
  if (first === undefined) throw new UsageError('Missing tool name. Use: bulkhead call NAME.')
  const isFolder = /^\.{1,2}$|[/\\]/.test(first)
  const [name, ...others] = isFolder ? more : [first, ...more]
  if (name === undefined) throw new UsageError(`Missing tool name. Use: bulkhead call ${first} NAME.`)
  if (others.length > 0) throw unexpected(others)
  return { folder: isFolder ? first : undefined, name }
}

/** Builds the extension in a folder. Rejects with ToolNotRegistered if it has no such tool. */
async function readTool(folder: string, name: string, values: SourceValues): Promise<ExtensionDescriptor> {
  const { readForProject } = await import('../extension-source.ts')
  const { extension, warnings } = await readForProject(folder, values)
  process.stderr.write(warnings.map((warning) => `Warning: ${visibleText(warning)}\n`).join(''))
  const names = extension.manifest.tools.map((tool) => tool.name)
  if (names.includes(name)) return extension
  const message = `${visibleText(folder)} has no tool "${visibleText(name)}". It has ${names.join(', ')}.`
  throw new BulkheadError('ToolNotRegistered', message)
}

/** "explain" knows tools of the host, and none of a folder. */
const noTerminal = (folder: string | undefined): string => 'There is no terminal to ask for approval. '
  + `${folder === undefined ? '"bulkhead explain" shows how to allow the call; ' : ''}`
  + '--mode yolo skips the questions of the mode, and no others.\n'

const ANSWER_IT = 'The call waits for an answer: see "bulkhead waiting list".\n'

interface CallRequest extends Pick<SessionOptions, 'headless'> {
  readonly name: string
  readonly arguments: Json
  readonly mode: SecurityMode | undefined
  readonly agent: string | undefined
  readonly timeoutMs: number | undefined
  readonly idempotencyKey: string | undefined
}

/** Denied by something that a configuration has, and not by a person. */
const isDenied = ({ code }: ErrorOutcome['error']): boolean =>
  code === 'RuleDenied' || code === 'CapabilityDenied' || code === 'RoleDenied' || (code === 'ApprovalDenied' && !canAsk())

const remedyText = (remedies: readonly string[]): string =>
  remedies.length === 0 ? '' : `To change this\n${remedies.map((remedy) => `  - ${visibleText(remedy)}\n`).join('')}`

/** The outcome, and what would allow a call that was denied. */
async function callOnce(
  host: Awaited<ReturnType<typeof openHost>>, request: CallRequest,
): Promise<{ readonly outcome: Outcome; readonly remedies: readonly string[] }> {
  const interactor = terminal()
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  for (const signal of ENDING_SIGNALS) process.once(signal, onInterrupt)
  const off = host.on((event) => {
    if (event.type === 'InteractionRaised' && request.headless === 'wait' && !canAsk()) process.stderr.write(hint(ANSWER_IT))
    if (event.type === 'ToolInvocationProgress' && process.stderr.isTTY) {
      process.stderr.write(hint(styleText('dim', visibleText(event.text), { stream: process.stderr }) + '\n'))
    }
  })
  const session = await host.openSession({
    ...(request.mode === undefined ? {} : { mode: request.mode }),
    ...(request.agent === undefined ? {} : { agent: request.agent }),
    ...(interactor === undefined ? {} : { interactor }), ...(request.headless && { headless: request.headless }),
    ...inCodeMode(request.name),
  })
  try {
    const { name, arguments: args, idempotencyKey } = request
    const asked = { id: 'cli', name, arguments: args }
    const outcome = await session.call({ ...asked, ...(idempotencyKey !== undefined && { idempotencyKey }) }, {
      signal: interrupt.signal,
      ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
    })
    const explained = outcome.type === 'error' && isDenied(outcome.error) ? await session.explain(asked) : undefined
    return { outcome, remedies: explained?.remedies ?? [] }
  } finally {
    off()
    for (const signal of ENDING_SIGNALS) process.off(signal, onInterrupt)
    await session.close()
  }
}

/** The tool is off unless it is asked for, and its name on the command line asks for it. */
const inCodeMode = (name: string): { readonly codeMode?: true } => name === PROGRAM_TOOL ? { codeMode: true } : {}

export const explain = defineCommand({
  usage: 'NAME|--surface',
  operands: TOOL_NAME,
  options: {
    ...CALL_OPTIONS,
    connect: { type: 'boolean', text: 'connect to the MCP server of the tool first, if its tools are not known yet' },
    surface: {
      type: 'boolean', text: 'instead of a call: everything that a session may use at most, and the tools that may use it',
    },
    ...STORE_OPTIONS, ...COMMON_OPTIONS,
  },
  details: 'Prints the rules that apply to the call and how to change the result. It does not prompt and does not run '
    + 'the tool.',
  exits: ['if the call would be allowed or would require approval', 'if it would be denied'],
  examples: [
    { command: `bulkhead explain write --args '{"path":"notes.txt","content":"hi"}'`, text: 'may a tool write this' },
    { command: `bulkhead explain bash --args '{"command":"npm test"}' --mode allowlist`, text: 'without questions' },
    { command: 'bulkhead explain --surface --agent reviewer', text: 'what a session for this agent may use' },
  ],

  async run({ values, positionals: [name, ...more] }) {
    if (values.surface) return explainSurface(values, name)
    if (name === undefined) throw new UsageError('Missing tool name. Use: bulkhead explain NAME.')
    if (more.length > 0) throw unexpected(more)
    const request = { id: 'cli', name, arguments: await readArguments(values.args) }
    const { mode, agent } = values
    const interactor = terminal()
    await using host = await openHost(values, 'no sessions')
    const meant = await meantCall(host, request, values.connect === true)
    const session = await host.openSession({
      ...(mode ? { mode } : {}), ...(agent === undefined ? {} : { agent }), ...(interactor ? { interactor } : {}),
      ...inCodeMode(meant.name),
    })
    const explanation = await session.explain(meant)
    process.stdout.write(values.json ? jsonText(explanation) : explanationText(explanation))
    tellFaults(explanation.code, name, host)
    return explanation.decision === 'deny' ? 1 : 0
  },
})

const COLOURS = {
  allow: 'green', ask: 'yellow', deny: 'red', pass: 'dim', change: 'cyan',
} as const satisfies Record<ExplainedStep['action'], string>
const WORDS = { allow: 'would be allowed', ask: 'would require approval', deny: 'would be denied' } as const

function explanationText(
  {
    tool, decision, code, approvalKey, arguments: changed, notRecorded, runsOn, chain, program, wall, environment,
    remedies,
  }: Explanation,
): string {
  const rows = chain.map(({ stage, action, source, reason }) => [stage, action, source, reason])
  return [
    `${visibleText(tool)} ${styleText(COLOURS[decision], WORDS[decision])}${code === undefined ? '' : ` (${code})`}\n`,
    ...(approvalKey === null ? [] : [`key: ${visibleText(approvalKey)}\n`]),
    ...(wall === undefined ? [] : [`wall: ${visibleText(wallWords(wall))}\n`]),
    ...(changed === undefined ? [] : [`with: ${visibleText(JSON.stringify(changed))}\n`]),
    ...(notRecorded === undefined ? [] : [`undo: not recorded: ${visibleText(notRecorded)}\n`]),
    ...(runsOn === undefined ? [] : [`runs on: ${visibleText(placeWords(runsOn))}\n`]),
    '\n', table(['STAGE', 'ACTION', 'SOURCE', 'REASON'], rows),
    ...(program === undefined ? [] : ['\nAt most, the program can\n', ...program.map(programLine)]),
    ...(environment === undefined ? [] : ['\nIts commands get\n', ...environment.map(variableLine)]),
    ...(remedies.length === 0 ? [] : [`\n${remedyText(remedies)}`]),
  ].join('')
}

function placeWords({ labels, workspace, rule, ready, reasons }: NonNullable<Explanation['runsOn']>): string {
  const wanted = `a worker with ${labels.join(', ')}${workspace === undefined ? '' : ` and the workspace "${workspace}"`}`
  const why = rule === undefined ? '' : `, because of ${rule}`
  return ready.length > 0 ? `${wanted}${why}: ${ready.join(', ')}` : `${wanted}${why}; none is ready. ${reasons.join(' ')}`
}

function wallWords({ wall, hosts }: NonNullable<Explanation['wall']>): string {
  if (wall !== 'work') return wall === 'look' ? 'look, nothing can be changed' : 'open, there is none'
  const network = hosts === undefined ? 'without a network'
    : hosts === 'all' ? 'with the whole network' : `reaches ${hosts.join(', ')}`
  return `work, only the workspace can be changed, ${network}`
}

const variableLine = ({ name, value, guarded, key }: CommandVariable): string => key
  ? `  - ${visibleText(name)}, ${key.given ? 'a placeholder of the key' : 'not for this command: the key is'} for `
    + `${visibleText(key.host)}\n`
  : `  - ${visibleText(value === undefined ? name : `${name}=${value}`)}`
    + `${guarded ? ', after approval: it has a password' : ''}\n`

function programLine({ tool, may, gated, denied }: ProgramTool): string {
  const can = `${gated ? ' with approval' : ''}, which may ${may.join('; ') || 'touch nothing'}`
  return `  - call ${visibleText(`${tool}${denied === undefined ? can : `, which is denied: ${denied}`}`)}\n`
}

/**
 * Resolves tool names in the notation of other hosts, such as mcp:server.tool. With `connecting`, connects first to
 * matching servers whose tools are not known yet.
 */
async function meantCall<Call extends { readonly name: string; readonly arguments: Json }>(
  host: Pick<Host, 'mcp' | 'tool'>, request: Call, connecting: boolean,
): Promise<Call> {
  const meant = connecting ? serversMeant(request.name, host.mcp.servers()) : []
  if (meant.length > 0) await host.mcp.connect(meant)
  return canonicalCall(request, (name) => host.tool(name))
}

const serversMeant = (tool: string, servers: readonly McpServerStatus[]): readonly string[] =>
  servers.filter((server) => server.tools === undefined && server.state !== 'disabled' && serverMeant(tool, server))
    .map(({ name }) => name)
