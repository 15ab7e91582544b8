import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import type { Outcome } from '../model/outcome.ts'
import type { ToolDefinition } from '../ports/embedder.ts'
import type { RequirementSet } from '../validation/requirements.ts'
import { errorOf, json, present, textOfData, type Reading } from './reading.ts'

const metadata = z.strictObject({
  duration_ms: z.int().nonnegative(),
  truncated: z.boolean().exactOptional(),
  output_path: z.string().exactOptional(),
})
const envelope = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('output'), data: json, metadata }),
  z.strictObject({ type: z.literal('error'), error_text: z.string(), metadata }),
])
/** A tool may leave the measurements to the host. */
const returned = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('output'), data: json, metadata: metadata.exactOptional() }),
  z.strictObject({ type: z.literal('error'), error_text: z.string(), metadata: metadata.exactOptional() }),
])

export type GridaEnvelope = z.infer<typeof envelope>

/**
 * Loses content, details, completion, the error code, the call id, and fractions of a millisecond; of data that was
 * cut, the name and the form of the part that became the head.
 */
export function toGrida(outcome: Outcome): GridaEnvelope {
  const { duration_ms, truncated, output_path } = outcome.metadata
  const carried = { duration_ms: Math.round(duration_ms), ...present({ truncated, output_path }) }
  return outcome.type === 'output'
    ? { type: 'output', data: truncated ? withHead(outcome.data) : outcome.data, metadata: carried }
    : { type: 'error', error_text: outcome.error_text, metadata: carried }
}

/** The longest part of data that was cut is its head, as a string. The other parts stay as they are. */
function withHead(data: Json): Json {
  if (!isJsonObject(data) || Object.keys(data).length === 0) return { head: textOfData(data) }
  if (typeof data['head'] === 'string') return data
  if (Object.hasOwn(data, 'head')) return { head: textOfData(data) }
  const parts = Object.entries(data).map(([key, value]) => ({ key, value, text: textOfData(value) }))
  const longest = parts.reduce((one, other) => other.text.length > one.text.length ? other : one)
  return Object.fromEntries([
    ['head', longest.text], ...parts.flatMap(({ key, value }) => key === longest.key ? [] : [[key, value]]),
  ])
}

/** undefined if the value is not an envelope of grida. */
export function fromGrida(value: unknown): Reading | undefined {
  const parsed = returned.safeParse(value)
  if (!parsed.success) return undefined
  const { data: read } = parsed
  return {
    body: read.type === 'output'
      ? { type: 'output', data: read.data }
      : { type: 'error', error_text: read.error_text, error: errorOf('ToolExecutionFailed') },
    metadata: read.metadata ?? {},
  }
}

/** A tool as its agent publishes it. */
export interface GridaTool {
  readonly id: string
  readonly description: string
  readonly parameters: JsonObject
  readonly requires: RequirementSet
}

export const toGridaTool = ({ name: id, description, inputSchema: parameters, requires }: ToolDefinition): GridaTool =>
  ({ id, description, parameters, requires })
