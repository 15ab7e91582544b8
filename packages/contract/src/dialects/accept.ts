import type { ErrorCode } from '../model/errors.ts'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { OutcomeBody } from '../model/outcome.ts'
import { fromCanonical } from './canonical.ts'
import { fromGrida } from './grida.ts'
import { fromMcp } from './mcp.ts'
import { fromMorphix } from './morphix.ts'
import { fromPhi } from './phi.ts'
import { errorOf, type Reading } from './reading.ts'
import { fromSteerable } from './steerable.ts'
import { fromStud } from './stud.ts'

/** What only a tool can know of a call. Every other code is the host's to say, so a tool that claims one has failed, no more. */
const TOOL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ToolExecutionFailed', 'NotFound', 'InputInvalid', 'ResourceBusy', 'ExecutionTimeout',
])

/** What an `execute` returned, in whichever of the accepted shapes. */
export const acceptReturn = (value: Json | undefined): OutcomeBody => readReturn(value).body

/** The same, with what the tool claims of the metadata. */
export function readReturn(value: Json | undefined): Reading {
  const reading = isJsonObject(value) ? readDialect(value) : undefined
  if (reading === undefined) return { body: { type: 'output', data: value ?? null }, metadata: {} }
  const { body } = reading
  if (body.type === 'output' || TOOL_CODES.has(body.error.code)) return reading
  return { ...reading, body: { ...body, error: errorOf('ToolExecutionFailed', body.error.data) } }
}

/**
 * The discriminant says which dialect to try, the whole shape whether it is one. Data that merely has such a key stays data.
 */
function readDialect(value: { readonly [key: string]: Json }): Reading | undefined {
  if (value['type'] === 'output' || value['type'] === 'error') return fromGrida(value) ?? fromCanonical(value)
  if (typeof value['ok'] === 'boolean') return fromStud(value)
  if (Array.isArray(value['content'])) return fromPhi(value) ?? fromMcp(value)
  if (typeof value['success'] !== 'boolean') return undefined
  return (Object.hasOwn(value, 'output') ? fromMorphix(value) : undefined) ?? fromSteerable(value)
}
