import { z } from 'zod'
import type { ErrorCode } from '../model/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ErrorOutcome, Outcome } from '../model/outcome.ts'
import { errorOf, FAILED_WITHOUT_TEXT, json, present, type Reading } from './reading.ts'

const measured = {
  tokens_used: z.number().nonnegative(),
  duration: z.number().nonnegative().describe('Seconds.'),
  attempt: z.int().positive(),
}
const success = z.strictObject({ success: z.literal(true), tool: z.string(), output: json, ...measured })
const failure = z.strictObject({ success: z.literal(false), tool: z.string(), error: z.string(), output: json })
/** A tool may omit what the orchestrator knows. */
const returned = z.discriminatedUnion('success', [
  success.partial({ tool: true, tokens_used: true, duration: true, attempt: true }),
  failure.extend(measured).partial({ tool: true, tokens_used: true, duration: true, attempt: true }),
])

export type MorphixSuccess = z.infer<typeof success>
export type MorphixFailure = z.infer<typeof failure>
export type MorphixResult = MorphixSuccess | MorphixFailure

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
  ['clarification_needed', 'ClarificationNeeded'],
  ['max_retries_exceeded', 'MaxRetriesExceeded'],
  ['tool_reported_failure', 'ToolExecutionFailed'],
  ['tests_failed', 'ToolExecutionFailed'],
])
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CapabilityDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'CommandRejected', 'HookVetoed',
  'ArgumentsUnsettled',
])

const codeOf = (error: string): ErrorCode => STRINGS.get(error) ?? 'ToolExecutionFailed'

function stringOf(code: ErrorCode): string {
  if (REFUSALS.has(code)) return 'permission_denied'
  for (const [string, meaning] of STRINGS) if (meaning === code) return string
  return 'tool_reported_failure'
}

/**
 * Loses content, details, completion, call_id, origin, truncation, codes without a string, and the measurements of a
 * failure.
 */
export function toMorphix(outcome: Outcome): MorphixResult {
  const { tool, tokens_used = 0, duration_ms, attempt } = outcome.metadata
  if (outcome.type === 'error') return { success: false, tool, ...failureOf(outcome) }
  return { success: true, tool, output: outcome.data, tokens_used, duration: Math.round(duration_ms) / 1000, attempt }
}

/** undefined if the value is not a result of morphix. */
export function fromMorphix(value: unknown): Reading | undefined {
  const parsed = returned.safeParse(value)
  if (!parsed.success) return undefined
  const { data: read } = parsed
  const { tool, tokens_used, duration, attempt } = read
  const duration_ms = duration === undefined ? undefined : Math.round(duration * 1000)
  return {
    body: read.success ? { type: 'output', data: read.output } : errorBody(read.error, read.output),
    metadata: present({ tool, tokens_used, duration_ms, attempt }),
  }
}

/** `output` of a failure is the text for the model. The data keeps what code and text cannot express. */
function errorBody(error: string, output: Json): Omit<ErrorOutcome, 'metadata'> {
  const code = codeOf(error)
  const hasText = typeof output === 'string' && output !== ''
  const shown = output === null || output === '' ? '' : ` ${JSON.stringify(output)}`
  const memory: JsonObject = { ...(stringOf(code) === error ? {} : { error }), ...(hasText ? {} : { output }) }
  return {
    type: 'error',
    error_text: hasText ? output : textOfString(error) + shown,
    error: errorOf(code, Object.keys(memory).length > 0 ? { morphix: memory } : undefined),
  }
}

const textOfString = (error: string): string => error === '' ? FAILED_WITHOUT_TEXT : `The tool failed: ${error}.`

function failureOf({ error, error_text }: ErrorOutcome): { readonly error: string; readonly output: Json } {
  const memory = isJsonObject(error.data) && isJsonObject(error.data['morphix']) ? error.data['morphix'] : {}
  const { error: original, output } = memory
  return {
    // Used only if it still means the code of the outcome.
    error: typeof original === 'string' && codeOf(original) === error.code ? original : stringOf(error.code),
    output: output === undefined ? error_text : output,
  }
}
