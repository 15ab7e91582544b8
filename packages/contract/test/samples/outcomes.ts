import * as fc from 'fast-check'
import { ERRORS, type ErrorCode } from '../../src/model/errors.ts'
import { errorOf, type PlainBlock } from '../../src/dialects/reading.ts'
import type { Completion, Content, ErrorOutcome, OutcomeMetadata, OutputOutcome } from '../../src/model/outcome.ts'
import { anyJson } from '../../../kit/test/samples/json.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const plain = { noNullPrototype: true } as const

/** Without the one that no outcome has any more. */
export const anyCode = fc.constantFrom(
  ...(Object.keys(ERRORS) as ErrorCode[]).filter((code) => code !== 'CommandRejected'),
)

const bytes = fc.base64String({ maxLength: 12 })
/** Blocks that every dialect with content carries. */
const plainBlocks = [
  fc.record({ type: fc.constant('text' as const), text }, plain),
  fc.record({ type: fc.constant('image' as const), data: bytes, mimeType: fc.constant('image/png') }, plain),
] as const
const uri = fc.nat().map((path) => `https://example.com/${path}`)
const resource = { type: fc.constant('resource' as const), uri, mimeType: fc.constant('text/csv') }

export const plainContent: fc.Arbitrary<readonly PlainBlock[]> = fc.array(fc.oneof(...plainBlocks), { maxLength: 3 })

const anyContent: fc.Arbitrary<readonly Content[]> = fc.array(fc.oneof(
  ...plainBlocks,
  fc.record({ type: fc.constant('audio' as const), data: bytes, mimeType: fc.constant('audio/wav') }, plain),
  fc.record({ ...resource, text }, { requiredKeys: ['type', 'uri', 'text'], ...plain }),
  fc.record({ ...resource, blob: bytes }, { requiredKeys: ['type', 'uri', 'blob'], ...plain }),
  fc.record(
    { ...resource, type: fc.constant('resource_link' as const), name: text, title: text, description: text },
    { requiredKeys: ['type', 'uri', 'name'], ...plain },
  ),
) as fc.Arbitrary<Content>, { maxLength: 3 })

export const anyCompletion: fc.Arbitrary<Completion> = fc.record(
  { terminal: fc.boolean(), needsFollowup: fc.boolean(), nextAction: text, message: text },
  { requiredKeys: [], ...plain },
)

const anyMetadata: fc.Arbitrary<OutcomeMetadata> = fc.record({
  call_id: text,
  tool: text,
  origin: fc.option(fc.record({
    layer: fc.constantFrom('bundled' as const, 'global' as const, 'project' as const), extension: text, version: text,
    digest: text,
  }, plain)),
  duration_ms: fc.nat(10_000_000),
  attempt: fc.integer({ min: 1, max: 3 }),
  truncated: fc.boolean(),
  output_path: text,
  tokens_used: fc.nat(100_000),
  child_loop_id: text,
}, { requiredKeys: ['call_id', 'tool', 'origin', 'duration_ms', 'attempt'], ...plain })

const around = { content: anyContent, details: anyJson, completion: anyCompletion, metadata: anyMetadata }

export const anyOutput: fc.Arbitrary<OutputOutcome> = fc.record(
  { type: fc.constant('output' as const), data: anyJson, ...around },
  { requiredKeys: ['type', 'data', 'metadata'], ...plain },
)
const anyError: fc.Arbitrary<ErrorOutcome> = fc.record({
  type: fc.constant('error' as const),
  error_text: text,
  error: fc.tuple(anyCode, fc.option(anyJson, { nil: undefined })).map(([code, data]) => errorOf(code, data)),
  ...around,
}, { requiredKeys: ['type', 'error_text', 'error', 'metadata'], ...plain })

export const anyOutcome = fc.oneof(anyOutput, anyError)

/** Replaces metadata that a dialect does not carry. */
export const base: OutcomeMetadata = { call_id: 'c0', tool: 'base', origin: null, duration_ms: 0, attempt: 1 }

/** Results as other runtimes write them. */
export const anyText = text
export const plainRecord = plain
