import { z } from 'zod'
import type { ErrorCode } from '../model/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ErrorOutcome, Outcome } from '../model/outcome.ts'
import type { ToolDefinition } from '../ports/embedder.ts'
import { errorOf, FAILED_WITHOUT_TEXT, json, present, type Reading } from './reading.ts'

const measured = {
  tokens_used: z.number().nonnegative(),
  duration: z.number().nonnegative().describe('Seconds.'),
  attempt: z.int().positive(),
}
const success = z.strictObject({ success: z.literal(true), tool: z.string(), output: json, ...measured })
const failure = z.strictObject({
  success: z.literal(false), tool: z.string().exactOptional(), error: z.string(), output: json,
})
const paused = z.strictObject({
  status: z.literal('clarification_needed'),
  clarification_question: z.string(),
  clarification_options: z.array(z.string()),
  paused_loop_state: z.record(z.string(), json),
})
/** A tool may omit what the orchestrator knows. */
const returned = z.discriminatedUnion('success', [
  success.partial({ tool: true, tokens_used: true, duration: true, attempt: true }),
  failure.extend(measured).partial({ tokens_used: true, duration: true, attempt: true }),
])

export type MorphixSuccess = z.infer<typeof success>
export type MorphixFailure = z.infer<typeof failure>
/** A question that has no answer yet. */
export type MorphixPaused = z.infer<typeof paused>
export type MorphixResult = MorphixSuccess | MorphixFailure | MorphixPaused

/** morphix's error strings. If several mean the same code, the first one is written for it. */
const STRINGS: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['tools_disabled', 'ToolsDisabled'],
  ['tool_not_found', 'ToolNotRegistered'],
  ['empty_tool_name', 'ToolNotRegistered'],
  ['mcp_client_not_found', 'ToolNotRegistered'],
  ['permission_denied', 'RoleDenied'],
  ['approval_denied', 'ApprovalDenied'],
  ['token_budget_exceeded', 'BudgetExhausted'],
  ['missing_required_param', 'InputInvalid'],
  ['tool_timeout', 'ExecutionTimeout'],
  ['max_retries_exceeded', 'MaxRetriesExceeded'],
  ['tool_reported_failure', 'ToolExecutionFailed'],
  ['tests_failed', 'ToolExecutionFailed'],
])
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CapabilityDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'HookVetoed',
  'ArgumentsUnsettled',
])

const codeOf = (error: string): ErrorCode => STRINGS.get(error) ?? 'ToolExecutionFailed'

/** The string for an error of a tool. A name that is blank or of an MCP server has a string of its own. */
function stringOf(code: ErrorCode, tool = 'unknown', data?: Json): string {
  if (REFUSALS.has(code)) return 'permission_denied'
  if (tool.trim() === '' && (code === 'ToolNotRegistered' || code === 'InputInvalid')) return 'empty_tool_name'
  if (tool.startsWith('mcp:') && code === 'ToolNotRegistered') return 'mcp_client_not_found'
  if (tool === 'test_runner' && code === 'ToolExecutionFailed' && hasFailedTests(data)) return 'tests_failed'
  for (const [string, meaning] of STRINGS) if (meaning === code) return string
  return 'tool_reported_failure'
}

/** In the numbers of morphix's tool, or of ours. */
const COUNTS = ['failed_count', 'error_count', 'failed', 'errors'] as const
const hasFailedTests = (data: Json | undefined): boolean =>
  isJsonObject(data) && COUNTS.some((name) => typeof data[name] === 'number' && data[name] > 0)

/**
 * Loses content, details, completion, call_id, origin, truncation, codes without a string, the measurements of a
 * failure, and of a question that waits its kind and the descriptions of its options.
 */
export function toMorphix(outcome: Outcome): MorphixResult {
  const { tool, tokens_used = 0, duration_ms, attempt } = outcome.metadata
  if (outcome.type === 'error') {
    return outcome.error.code === 'ClarificationNeeded' ? pausedOf(outcome) : failureOf(outcome)
  }
  // There, tests that fail are a failure of the tool that runs them.
  if (tool === 'test_runner' && hasFailedTests(outcome.data)) {
    return { success: false, tool, error: 'tests_failed', output: outcome.data }
  }
  return { success: true, tool, output: outcome.data, tokens_used, duration: Math.round(duration_ms) / 1000, attempt }
}

/** undefined if the value is not a result of morphix. */
export function fromMorphix(value: unknown): Reading | undefined {
  const waits = paused.safeParse(value).data
  if (waits) return { body: pausedBody(waits), metadata: {} }
  const parsed = returned.safeParse(value)
  if (!parsed.success) return undefined
  const { data: read } = parsed
  const { tool, tokens_used, duration, attempt } = read
  const duration_ms = duration === undefined ? undefined : Math.round(duration * 1000)
  return {
    body: read.success ? { type: 'output', data: read.output } : errorBody(read.error, read.output, tool),
    metadata: present({ tool, tokens_used, duration_ms, attempt }),
  }
}

/** `output` of a failure is the text for the model. The data keeps what code and text cannot express. */
function errorBody(error: string, output: Json, tool?: string): Omit<ErrorOutcome, 'metadata'> {
  const code = codeOf(error)
  const hasText = typeof output === 'string' && output !== ''
  const shown = output === null || output === '' ? '' : ` ${JSON.stringify(output)}`
  const memory: JsonObject = { ...(stringOf(code, tool) === error ? {} : { error }), ...(hasText ? {} : { output }) }
  return {
    type: 'error',
    error_text: hasText ? output : textOfString(error) + shown,
    error: errorOf(code, Object.keys(memory).length > 0 ? { morphix: memory } : undefined),
  }
}

const textOfString = (error: string): string => error === '' ? FAILED_WITHOUT_TEXT : `The tool failed: ${error}.`

function failureOf({ error, error_text, metadata: { tool } }: ErrorOutcome): MorphixFailure {
  const memory = isJsonObject(error.data) && isJsonObject(error.data['morphix']) ? error.data['morphix'] : {}
  const { error: original, output = error_text } = memory
  // Used only if it still means the code of the outcome.
  const isSame = typeof original === 'string' && codeOf(original) === error.code
  const said = isSame ? original : stringOf(error.code, tool, error.data)
  return { success: false, ...(said === 'empty_tool_name' ? {} : { tool }), error: said, output }
}

function pausedOf({ error, error_text }: ErrorOutcome): MorphixPaused {
  const { question = {}, ...state } = isJsonObject(error.data) ? error.data : {}
  const { prompt = error_text, options = [] } = isJsonObject(question) ? question : {}
  return {
    status: 'clarification_needed',
    clarification_question: typeof prompt === 'string' ? prompt : error_text,
    clarification_options: Array.isArray(options)
      ? options.flatMap((option: Json) => isJsonObject(option) ? [String(option['label'])] : []) : [],
    paused_loop_state: state,
  }
}

function pausedBody(read: MorphixPaused): Omit<ErrorOutcome, 'metadata'> {
  const { clarification_question: prompt, clarification_options: labels, paused_loop_state: state } = read
  const question: JsonObject = labels.length === 0
    ? { kind: 'Ask', prompt } : { kind: 'Select', prompt, options: labels.map((label) => ({ label })) }
  return { type: 'error', error_text: prompt, error: errorOf('ClarificationNeeded', { ...state, question }) }
}

/** A tool as its registry has it: the schema of each parameter, and which are required. */
export interface MorphixTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly required: readonly string[]
}

/** Loses everything of the schema besides its properties. */
export function toMorphixTool({ name, description, inputSchema }: ToolDefinition): MorphixTool {
  const { properties = {}, required = [] } = inputSchema
  return {
    name, description,
    parameters: isJsonObject(properties) ? properties : {},
    required: Array.isArray(required) ? required.filter((each) => typeof each === 'string') : [],
  }
}
