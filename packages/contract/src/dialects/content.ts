import { z } from 'zod'
import type { Json } from '@bulkhead/kit/json'
import type { Content, OutcomeMetadata } from '../model/outcome.ts'

/** The blocks that a model can be shown. */
export const contentBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
])

/** What a model is shown of a value where its tool did not say: a text as it is, anything else as JSON. */
export const textOfData = (data: Json): string => typeof data === 'string' ? data : JSON.stringify(data)

/** The text of all blocks, one below the other, or undefined when none of them is text. */
export function textOfContent(content: readonly Content[]): string | undefined {
  const texts = content.flatMap((block) => block.type === 'text' ? [block.text] : [])
  return texts.length > 0 ? texts.join('\n') : undefined
}

/** What a model is told below a result that was cut, so that it does not take the head for the whole. Undefined where nothing is missing. */
export function noteOfCut({ truncated, output_path: path }: OutcomeMetadata, besides = ''): string | undefined {
  if (!truncated) return undefined
  return `[The result was too long and is cut here${besides}.${path === undefined ? '' : ` The whole is in ${path}`}]`
}

export const FAILED_WITHOUT_TEXT = 'The tool failed and did not say why.'
