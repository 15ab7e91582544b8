import type { Json } from '@bulkhead/kit/json'
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../model/errors.ts'
import type { BulkheadEvent } from '../model/events.ts'
import type { Content, Outcome, OutcomeBody, OutcomeError, OutcomeMetadata } from '../model/outcome.ts'

/** The result of a reader: the outcome, and the metadata that the dialect carries. */
export interface Reading {
  readonly body: OutcomeBody
  readonly metadata: CarriedMetadata
}

/**
 * Metadata as the author of the result claims it. For a result of a third party the host uses `child_loop_id` and
 * `tokens_used` at most, and measures everything else itself.
 */
export type CarriedMetadata = Partial<Omit<OutcomeMetadata, 'origin'>>

/** Completes a reading to an outcome. What was read overrides `base`. */
export const completeOutcome = ({ body, metadata }: Reading, base: OutcomeMetadata): Outcome =>
  ({ ...body, metadata: { ...base, ...metadata } })

/** Class and retryable follow from the code, not from the result. */
export const errorOf = (code: ErrorCode, data?: Json): OutcomeError =>
  ({ code, class: ERRORS[code].class, retryable: ERRORS[code].retryable, ...present({ data }) })

/** Whether a cancellation ends the run. A call that was skipped for a user message does not. */
export const endsRun = (code: ErrorCode): boolean =>
  ERRORS[code].class === 'Cancellation' && code !== 'SkippedBySteering'

/** Readers get JSON, so its content is not checked again; only its presence is. */
export const json = z.custom<Json>((value) => value !== undefined)

/** Removes undefined fields. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>
}

type Present<Fields> =
  & { [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key] }
  & { [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined> }

/** The blocks that every model API can carry. */
export const plainBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
])
export type PlainBlock = z.infer<typeof plainBlock>

const resource = { type: z.literal('resource'), uri: z.string(), mimeType: z.string().exactOptional() }
export const contentBlock: z.ZodType<Content> = z.union([
  plainBlock,
  z.strictObject({ type: z.literal('audio'), data: z.string(), mimeType: z.string() }),
  z.strictObject({ ...resource, text: z.string() }),
  z.strictObject({ ...resource, blob: z.string() }),
  z.strictObject({
    type: z.literal('resource_link'), uri: z.string(), name: z.string(), title: z.string().exactOptional(),
    description: z.string().exactOptional(), mimeType: z.string().exactOptional(),
  }),
])

/** What a model sees of a value without `content`: a string as it is, anything else as JSON. */
export const textOfData = (data: Json): string => typeof data === 'string' ? data : JSON.stringify(data)

/** The text of all blocks except images, joined by line breaks, or undefined if there is none. */
export function textOfContent(content: readonly Content[]): string | undefined {
  const texts = content.flatMap((block) => block.type === 'image' ? [] : [textOfBlock(block)])
  return texts.length > 0 ? texts.join('\n') : undefined
}

/** The text of a block. What text cannot carry is named, so that a model knows that it exists. */
export function textOfBlock(block: Content): string {
  switch (block.type) {
    case 'text': return block.text
    case 'image':
    case 'audio': return `[${block.type} of type ${block.mimeType}]`
    case 'resource': return block.text ?? `[binary resource ${block.uri}]`
    case 'resource_link': return `${block.name}: ${block.uri}`
  }
}

/** A note for the model below a result that was cut. undefined for a complete result. */
export function noteOfCut(
  { truncated, output_path: path, output_cut: isPart }: OutcomeMetadata, besides = '',
): string | undefined {
  if (!truncated) return undefined
  const where = path === undefined ? '' : ` ${isPart ? 'More of it, but not the whole,' : 'The whole'} is in ${path}`
  return `[The result was too long and is cut here${besides}.${where}]`
}

export const FAILED_WITHOUT_TEXT = 'The tool failed and did not say why.'

/** What events of other runtimes contain and ours do not. The caller adds it if available. */
export interface EventContext {
  readonly arguments?: Json
  /** @deprecated Use `arguments`. */
  readonly args?: Json
  readonly outcome?: Outcome
}

export type CallEvent = Extract<BulkheadEvent, { readonly callId: string; readonly origin: object | null }>
