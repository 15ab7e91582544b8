import { z } from 'zod'
import type { ErrorCode } from '../model/errors.ts'
import type { Content, ErrorOutcome, Outcome, OutcomeBody } from '../model/outcome.ts'
import { contentBlock, FAILED_WITHOUT_TEXT, textOfContent, textOfData } from './content.ts'
import { endsRun, errorOf, json, present, type Reading } from './reading.ts'

const toolResult = z.strictObject({
  content: z.array(contentBlock),
  details: json,
  child_loop_id: z.string().nullable(),
})
/** A failure that was made a result already says so. */
const returned = toolResult.partial({ details: true, child_loop_id: true })
  .extend({ is_error: z.boolean().exactOptional(), isError: z.boolean().exactOptional() })
const toolError = z.discriminatedUnion('variant', [
  z.strictObject({ variant: z.enum(['Failed', 'NotFound', 'InvalidArgs', 'Timeout']), message: z.string() }),
  z.strictObject({ variant: z.literal('Cancelled') }),
])
const toolResultMessage = z.strictObject({
  role: z.literal('toolResult'),
  toolCallId: z.string(),
  toolName: z.string(),
  content: z.array(contentBlock),
  isError: z.boolean(),
  timestamp: z.int().nonnegative(),
})

export type PhiToolResult = z.infer<typeof toolResult>
export type PhiToolError = z.infer<typeof toolError>
/** What enters the conversation. */
export type PhiToolResultMessage = z.infer<typeof toolResultMessage>

type Variant = PhiToolError['variant']
const VARIANTS: readonly { readonly variant: Variant; readonly code: ErrorCode; readonly prefix: string }[] = [
  { variant: 'NotFound', code: 'ToolNotRegistered', prefix: 'Tool not found: ' },
  { variant: 'InvalidArgs', code: 'InputInvalid', prefix: 'Invalid arguments: ' },
  { variant: 'Timeout', code: 'ExecutionTimeout', prefix: 'Tool exceeded timeout of ' },
  { variant: 'Cancelled', code: 'ToolCancelled', prefix: 'Cancelled' },
  { variant: 'Failed', code: 'ToolExecutionFailed', prefix: '' },
]
const rowOf = (variant: Variant) => VARIANTS.find((row) => row.variant === variant)!

/** How phi shows an error to the model. */
export const phiErrorText = (error: PhiToolError): string =>
  rowOf(error.variant).prefix + (error.variant === 'Cancelled' ? '' : error.message)

/**
 * Loses data where content was given and the form of data where not, completion, metadata but child_loop_id, and of an
 * error all but its variant and text.
 */
export function toPhi(outcome: Outcome): PhiToolResult | PhiToolError {
  if (outcome.type === 'error') return toPhiError(outcome)
  return {
    content: [...(outcome.content ?? [{ type: 'text' as const, text: textOfData(outcome.data) }])],
    details: outcome.details ?? null,
    child_loop_id: outcome.metadata.child_loop_id ?? null,
  }
}

/** undefined when the value is neither a result nor an error of phi. */
export function fromPhi(value: unknown): Reading | undefined {
  const result = returned.safeParse(value)
  if (result.success) {
    const { content, details, child_loop_id, is_error = false, isError = is_error } = result.data
    return {
      body: { ...contentBody(content, isError), ...present({ details: details ?? undefined }) },
      metadata: present({ child_loop_id: child_loop_id ?? undefined }),
    }
  }
  const error = toolError.safeParse(value).data
  return error && { body: errorBody(rowOf(error.variant).code, phiErrorText(error)), metadata: {} }
}

/** Loses what toPhi loses, and details and child_loop_id; an error is its text. */
export function toPhiMessage(outcome: Outcome, timestamp: number): PhiToolResultMessage {
  const text = outcome.type === 'output' ? textOfData(outcome.data) : phiErrorText(toPhiError(outcome))
  return {
    role: 'toolResult',
    toolCallId: outcome.metadata.call_id,
    toolName: outcome.metadata.tool,
    content: [...(outcome.content ?? [{ type: 'text' as const, text }])],
    isError: outcome.type === 'error',
    timestamp,
  }
}

/** undefined when the value is not phi's message of a result. */
export function fromPhiMessage(value: unknown): (Reading & { readonly timestamp: number }) | undefined {
  const parsed = toolResultMessage.safeParse(value)
  if (!parsed.success) return undefined
  const { content, isError, timestamp, toolCallId: call_id, toolName: tool } = parsed.data
  return { body: contentBody(content, isError), metadata: { call_id, tool }, timestamp }
}

function contentBody(content: readonly Content[], isError: boolean): OutcomeBody {
  const text = textOfContent(content)
  if (!isError) return { type: 'output', data: text ?? null, content }
  return { ...errorBody(codeOfText(text ?? ''), text ?? FAILED_WITHOUT_TEXT), content }
}

function toPhiError({ error, error_text, metadata }: ErrorOutcome): PhiToolError {
  const { variant, prefix } = endsRun(error.code)
    ? rowOf('Cancelled')
    : VARIANTS.find((row) => row.code === error.code) ?? rowOf('Failed')
  if (variant === 'Cancelled') return { variant }
  if (error_text.startsWith(prefix)) return { variant, message: error_text.slice(prefix.length) }
  const subject: Partial<Record<Variant, string>> = { NotFound: metadata.tool, Timeout: `${metadata.duration_ms / 1000}s` }
  return { variant, message: subject[variant] ?? error_text }
}

const errorBody = (code: ErrorCode, error_text: string) => ({ type: 'error' as const, error_text, error: errorOf(code) })

const codeOfText = (text: string): ErrorCode =>
  VARIANTS.find(({ variant, prefix }) => variant === 'Cancelled' ? text === prefix : text.startsWith(prefix))!.code
