import { z } from 'zod'
import type { Outcome } from '../model/outcome.ts'
import { errorOf, json, present, type Reading } from './reading.ts'

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

/** Loses content, details, completion, the error code, the call id, and fractions of a millisecond. */
export function toGrida(outcome: Outcome): GridaEnvelope {
  const { duration_ms, truncated, output_path } = outcome.metadata
  const carried = { duration_ms: Math.round(duration_ms), ...present({ truncated, output_path }) }
  return outcome.type === 'output'
    ? { type: 'output', data: outcome.data, metadata: carried }
    : { type: 'error', error_text: outcome.error_text, metadata: carried }
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
