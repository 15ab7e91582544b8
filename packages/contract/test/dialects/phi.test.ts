import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fromPhi, fromPhiMessage, phiErrorText, toPhi, toPhiMessage, type PhiToolError, type PhiToolResult,
  type PhiToolResultMessage,
} from '../../src/dialects/phi.ts'
import { completeOutcome, errorOf, present, textOfBlock, type Reading } from '../../src/dialects/reading.ts'
import type { ErrorCode } from '../../src/model/errors.ts'
import type { Content, Outcome } from '../../src/model/outcome.ts'
import { anyJson } from '../../../kit/test/samples/json.ts'
import { anyOutcome, anyText, base, plainContent, plainRecord } from '../samples/outcomes.ts'

const failed = (code: ErrorCode, error_text: string): Outcome =>
  ({ type: 'error', error_text, error: errorOf(code), metadata: base })
const textIn = (content: readonly Content[]) => {
  const texts = content.filter((block) => block.type !== 'image').map(textOfBlock)
  return texts.length > 0 ? texts.join('\n') : null
}

function carried(outcome: Outcome): Reading {
  if (outcome.type === 'error') {
    const error = toPhi(outcome) as PhiToolError
    const codes = {
      Failed: 'ToolExecutionFailed', NotFound: 'ToolNotRegistered', InvalidArgs: 'InputInvalid',
      Cancelled: 'ToolCancelled',
    } as const
    return {
      body: {
        type: 'error', error_text: phiErrorText(error),
        error: errorOf(outcome.error.code === 'ExecutionTimeout' ? outcome.error.code : codes[error.variant]),
      },
      metadata: {},
    }
  }
  const text = typeof outcome.data === 'string' ? outcome.data : JSON.stringify(outcome.data)
  const content = outcome.content?.map((block) =>
    block.type === 'text' || block.type === 'image' ? block : { type: 'text' as const, text: textOfBlock(block) })
    ?? [{ type: 'text', text }]
  return {
    body: { type: 'output', data: textIn(content), content, ...present({ details: outcome.details ?? undefined }) },
    metadata: present({ child_loop_id: outcome.metadata.child_loop_id }),
  }
}

const anyResult = fc.record(
  { content: plainContent, details: anyJson, child_loop_id: fc.option(anyText) }, plainRecord,
) as fc.Arbitrary<PhiToolResult>
const anyToolError: fc.Arbitrary<PhiToolError> = fc.oneof(
  fc.record(
    { variant: fc.constantFrom('Failed', 'NotFound', 'InvalidArgs'), message: anyText }, plainRecord,
  ),
  fc.constant({ variant: 'Cancelled' as const }),
)
const anyMessage = fc.record({
  role: fc.constant('toolResult'), toolCallId: anyText, toolName: anyText, isError: fc.boolean(), timestamp: fc.nat(),
  content: fc.oneof(plainContent, anyToolError.map((error) => [{ type: 'text', text: phiErrorText(error) }])),
}, plainRecord) as fc.Arbitrary<PhiToolResultMessage>

describe("phi's result", () => {
  it('has exactly the documented fields', () => {
    expect(toPhi({ type: 'output', data: { a: 1 }, metadata: { ...base, child_loop_id: 'l1' } })).toStrictEqual({
      content: [{ type: 'text', text: '{"a":1}' }], details: null, child_loop_id: 'l1',
    })
  })

  it.each<[ErrorCode, string, PhiToolError, string]>([
    ['ToolExecutionFailed', 'disk full', { variant: 'Failed', message: 'disk full' }, 'disk full'],
    ['ToolNotRegistered', 'There is no such tool.', { variant: 'NotFound', message: 'base' }, 'Tool not found: base'],
    [
      'InputInvalid', '/city is missing', { variant: 'InvalidArgs', message: '/city is missing' },
      'Invalid arguments: /city is missing',
    ],
    ['InputInvalid', 'Invalid arguments: x', { variant: 'InvalidArgs', message: 'x' }, 'Invalid arguments: x'],
    [
      'ExecutionTimeout', 'too slow', { variant: 'Failed', message: 'Tool exceeded timeout of 0s' },
      'Tool exceeded timeout of 0s',
    ],
    ['TurnCancelled', 'stopped', { variant: 'Cancelled' }, 'Cancelled'],
    ['SkippedBySteering', 'Skipped.', { variant: 'Failed', message: 'Skipped.' }, 'Skipped.'],
    ['NotFound', 'no such file', { variant: 'Failed', message: 'no such file' }, 'no such file'],
    ['CapabilityDenied', 'outside', { variant: 'Failed', message: 'outside' }, 'outside'],
  ])('shows %s "%s" as a variant with its text', (code, text, error, shown) => {
    expect(toPhi(failed(code, text))).toStrictEqual(error)
    expect(phiErrorText(error)).toBe(shown)
  })

  it('gives back what it carries of any outcome', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      expect(fromPhi(toPhi(outcome))).toStrictEqual(carried(outcome))
    }))
  })

  it('gives back any result and any error unchanged', () => {
    fc.assert(fc.property(fc.oneof(anyResult, anyToolError), (result) => {
      expect(toPhi(completeOutcome(fromPhi(result)!, base))).toStrictEqual(result)
    }))
  })

  it('is read with the variant for a timeout, which phi does not have', () => {
    const error_text = 'Tool exceeded timeout of 5s'
    expect(fromPhi({ variant: 'Timeout', message: '5s' })?.body).toMatchObject({
      error: { code: 'ExecutionTimeout' }, error_text,
    })
    expect(fromPhi({ variant: 'Failed', message: error_text })?.body).toMatchObject({
      error: { code: 'ExecutionTimeout' },
    })
  })

  it('is an error if its error flag is set', () => {
    const content = [{ type: 'text', text: 'Invalid arguments: no city' }]
    for (const flag of ['is_error', 'isError']) {
      expect(fromPhi({ content, details: { a: 1 }, [flag]: true })?.body).toStrictEqual({
        type: 'error', error_text: 'Invalid arguments: no city', error: errorOf('InputInvalid'), content,
        details: { a: 1 },
      })
    }
  })

  it.each([
    ['content that is no list', { content: 'x', details: null }],
    ['an unknown key', { content: [], path: 'x' }],
    ['a block of another kind', { content: [{ type: 'thinking', thinking: 'x' }] }],
    ['a block that is no object', { content: [1, 2] }],
    ['an unknown variant', { variant: 'Exploded', message: 'x' }],
    ['a cancellation with a message', { variant: 'Cancelled', message: 'x' }],
  ])('is not one with %s', (_, value) => {
    expect(fromPhi(value)).toBeUndefined()
  })
})

describe("phi's message of a result", () => {
  it('has exactly the documented fields', () => {
    expect(toPhiMessage(failed('TurnCancelled', 'stopped'), 5)).toStrictEqual({
      role: 'toolResult', toolCallId: 'c0', toolName: 'base', content: [{ type: 'text', text: 'Cancelled' }],
      isError: true,
      timestamp: 5,
    })
  })

  it('gives back whose call it was, its content and its variant', () => {
    fc.assert(fc.property(anyOutcome, fc.nat(), (outcome, timestamp) => {
      const read = fromPhiMessage(toPhiMessage(outcome, timestamp))!
      expect(read.timestamp).toBe(timestamp)
      expect(read.metadata).toStrictEqual({ call_id: outcome.metadata.call_id, tool: outcome.metadata.tool })
      expect(read.body.type).toBe(outcome.type)
      expect(read.body.content).toStrictEqual(toPhiMessage(outcome, timestamp).content)
    }))
  })

  it('gives back any message unchanged', () => {
    fc.assert(fc.property(anyMessage, (message) => {
      const read = fromPhiMessage(message)!
      expect(toPhiMessage(completeOutcome(read, base), read.timestamp)).toStrictEqual(message)
    }))
  })

  it('differs from other messages', () => {
    expect(fromPhiMessage({ role: 'user', content: [] })).toBeUndefined()
  })
})
