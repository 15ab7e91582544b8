import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { z } from 'zod'
import { isErrorCode, type ErrorCode } from '../model/errors.ts'
import type { OutcomeBody } from '../model/outcome.ts'
import { fromGrida } from './grida.ts'
import { fromMcp } from './mcp.ts'
import { fromMorphix } from './morphix.ts'
import { fromPhi } from './phi.ts'
import { contentBlock, errorOf, json, present, type Reading } from './reading.ts'
import { fromSteerable } from './steerable.ts'
import { fromStud } from './stud.ts'

/** The codes that a tool may report. Any other code that it claims becomes ToolExecutionFailed. */
const TOOL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ToolExecutionFailed', 'NotFound', 'InputInvalid', 'ResourceBusy', 'ExecutionTimeout',
])

/** The outcome of what `execute` returned, in any accepted dialect. */
export const acceptReturn = (value: Json | undefined): OutcomeBody => readReturn(value).body

/** The same, with the metadata that the tool claims. */
export function readReturn(value: Json | undefined): Reading {
  const reading = isJsonObject(value) ? readDialect(value) : undefined
  if (reading === undefined) return { body: { type: 'output', data: value ?? null }, metadata: {} }
  const { body } = reading
  if (body.type === 'output' || TOOL_CODES.has(body.error.code)) return reading
  return { ...reading, body: { ...body, error: errorOf('ToolExecutionFailed', body.error.data) } }
}

/** The discriminant selects the dialect, and the whole shape must match. Otherwise the value is plain data. */
function readDialect(value: { readonly [key: string]: Json }): Reading | undefined {
  if (value['type'] === 'output' || value['type'] === 'error') return fromGrida(value) ?? fromCanonical(value)
  if (typeof value['ok'] === 'boolean') return fromStud(value)
  if (Array.isArray(value['content'])) return fromPhi(value) ?? fromMcp(value)
  if (typeof value['success'] !== 'boolean') return undefined
  return (Object.hasOwn(value, 'output') ? fromMorphix(value) : undefined) ?? fromSteerable(value)
}

const completion = z.strictObject({
  terminal: z.boolean().exactOptional(),
  needsFollowup: z.boolean().exactOptional(),
  nextAction: z.string().exactOptional(),
  message: z.string().exactOptional(),
})
const metadata = z.looseObject({
  child_loop_id: z.string().exactOptional(),
  tokens_used: z.number().nonnegative().exactOptional(),
})
const common = {
  content: z.array(contentBlock).exactOptional(),
  details: json.exactOptional(),
  completion: completion.exactOptional(),
  metadata: metadata.exactOptional(),
}
const outcome = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('output'), data: json, ...common }),
  z.strictObject({
    type: z.literal('error'),
    error_text: z.string(),
    error: z.looseObject({ code: z.custom<ErrorCode>(isErrorCode), data: json.exactOptional() }).exactOptional(),
    ...common,
  }),
])

/** An outcome in our own form, with the metadata that a tool can know. undefined for any other value. */
export function fromCanonical(value: unknown): Reading | undefined {
  const parsed = outcome.safeParse(value)
  if (!parsed.success) return undefined
  const { metadata: claimed, ...read } = parsed.data
  return {
    body: read.type === 'output'
      ? read
      : { ...read, error: errorOf(read.error?.code ?? 'ToolExecutionFailed', read.error?.data) },
    metadata: present({ child_loop_id: claimed?.child_loop_id, tokens_used: claimed?.tokens_used }),
  }
}
