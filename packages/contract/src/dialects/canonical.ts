import { z } from 'zod'
import { isErrorCode, type ErrorCode } from '../model/errors.ts'
import { contentBlock } from './content.ts'
import { errorOf, json, present, type Reading } from './reading.ts'

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

/**
 * Our own form, from a tool that returns it or hands on what another tool answered. undefined when it is not that form.
 * Of the metadata only what a tool can know is read.
 */
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
