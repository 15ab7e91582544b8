import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { z } from 'zod'
import { isErrorCode, type ErrorCode } from '../model/errors.ts'
import type { Dialect } from '../model/names.ts'
import type { OutcomeBody } from '../model/outcome.ts'
import { fromGrida } from './grida.ts'
import { fromMcp } from './mcp.ts'
import { fromMorphix } from './morphix.ts'
import { fromPhi } from './phi.ts'
import { contentBlock, errorOf, json, present, type Reading } from './reading.ts'
import { fromSteerable, hasOnlySteerableFields } from './steerable.ts'
import { fromStud } from './stud.ts'

/** The codes that a tool may report. Any other code that it claims becomes ToolExecutionFailed. */
const TOOL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ToolExecutionFailed', 'NotFound', 'InputInvalid', 'ResourceBusy', 'ExecutionTimeout',
])

/** What a tool declares about its results. */
export interface ReturnForm {
  /** The form of its results. */
  readonly dialect?: Dialect | undefined
  /** Whether a value satisfies its outputSchema. Absent: it declares none. */
  readonly satisfies?: ((value: Json) => boolean) | undefined
}

/** The outcome of what `execute` returned. */
export const acceptReturn = (value: Json | undefined, form?: ReturnForm): OutcomeBody => readReturn(value, form).body

/**
 * The same, with the metadata that the tool claims. What satisfies the outputSchema is data, also if it looks like
 * another form. A value that has the mark of no form is never checked.
 */
export function readReturn(value: Json | undefined, form: ReturnForm = {}): Reading {
  const reading = isJsonObject(value) && isMarked(value) ? readMarked(value, form) : undefined
  if (reading === undefined) return { body: { type: 'output', data: value ?? null }, metadata: {} }
  const { body } = reading
  if (body.type === 'output' || TOOL_CODES.has(body.error.code)) return reading
  return { ...reading, body: { ...body, error: errorOf('ToolExecutionFailed', body.error.data) } }
}

type Returned = { readonly [key: string]: Json }

/** Whether it has a member that some form begins with. */
const isMarked = (value: Returned): boolean => isOwnType(value['type']) || typeof value['ok'] === 'boolean'
  || Array.isArray(value['content']) || typeof value['success'] === 'boolean' || typeof value['variant'] === 'string'
  || value['status'] === 'clarification_needed'

const isOwnType = (type: Json | undefined): boolean => type === 'output' || type === 'error'

/** Our own form is read always, another one if the tool names it, or if it declares nothing and the form is complete. */
function readMarked(value: Returned, { dialect, satisfies }: ReturnForm): Reading | undefined {
  if (satisfies?.(value)) return undefined
  const own = isOwnType(value['type']) ? fromGrida(value) ?? fromCanonical(value) : undefined
  if (own !== undefined) return own
  if (dialect !== undefined) return READERS[dialect](value)
  return satisfies === undefined ? readComplete(value) : undefined
}

const READERS: Readonly<Record<Dialect, (value: Returned) => Reading | undefined>> = {
  grida: fromGrida, mcp: fromMcp, morphix: fromMorphix, phi: fromPhi, steerable: fromSteerable, stud: fromStud,
}

/** All members that the form requires are there, and no other. Otherwise the value is plain data. */
function readComplete(value: Returned): Reading | undefined {
  if (typeof value['ok'] === 'boolean') return fromStud(value)
  if (Array.isArray(value['content'])) return fromPhi(value) ?? fromMcp(value)
  if (typeof value['variant'] === 'string') return fromPhi(value)
  if (typeof value['success'] !== 'boolean') return undefined
  if (Object.hasOwn(value, 'output')) return fromMorphix(value)
  return hasOnlySteerableFields(value) ? fromSteerable(value) : undefined
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
