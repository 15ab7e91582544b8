import { hash } from 'node:crypto'
import type { BulkheadEvent, EventOf } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { CallForms, AuditBatch } from '../../src/records/audit-forms.ts'
import { createRedaction } from '../../src/records/redaction.ts'

const redaction = createRedaction(['correct horse'])
const origin = { layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd' } as const
const at = '2026-01-01T00:00:00.000Z'

const decided = (changes: Partial<EventOf<'ToolInvocationDecided'>> = {}): EventOf<'ToolInvocationDecided'> => ({
  type: 'ToolInvocationDecided', at, sessionId: 's', callId: 'c', tool: 'echo', origin, decision: 'allow',
  stage: 'rules', source: 'manifest', reason: 'fine', approvalKey: 'echo', arguments: { b: 1, a: 2 },
  args: { b: 1, a: 2 }, ...changes,
})
const succeeded = (changes: Partial<EventOf<'ToolInvocationSucceeded'>> = {}): EventOf<'ToolInvocationSucceeded'> => ({
  type: 'ToolInvocationSucceeded', at, sessionId: 's', callId: 'c', tool: 'echo', origin, durationMs: 3, ...changes,
})

function gather(events: readonly BulkheadEvent[], keepArguments = false): AuditBatch {
  const gathering = new AuditBatch()
  const calls = new CallForms(redaction, keepArguments)
  for (const event of events) gathering.add(event, calls, redaction)
  return gathering
}

/** The expected record of an event. */
function expected(event: BulkheadEvent): object {
  if (event.type !== 'ToolInvocationDecided') return event
  const { args: _, arguments: __, ...rest } = event
  return { ...rest, argsSha256: hash('sha256', '{"a":2,"b":1}') }
}

test('a use is kept without secrets and not longer than its limit', () => {
  const used = (subject: string) => ({ part: 'shell', fromMs: 0, ms: 1, subject })
  const [record] = gather([succeeded({ uses: [used('correct horse'), used('x'.repeat(5_000))] })]).records()
  expect(record!['uses']).toEqual([used('[redacted]'), used('x'.repeat(300))])
})

test('similar calls share a form, and other events are records of their own', () => {
  const alike = [
    decided(), succeeded(), decided({ callId: 'd', approvalKey: 'other' }), succeeded({ callId: 'd', durationMs: 9 }),
  ]
  expect(gather(alike).forms).toHaveLength(2)
  const others: BulkheadEvent[] = [
    decided({ sessionId: 't' }), decided({ tool: 'other' }), decided({ origin: { ...origin, digest: 'e' } }),
    decided({ origin: null }), decided({ decision: 'deny' }), decided({ stage: 'mode' }),
    decided({ source: 'project' }), decided({ reason: 'other' }), succeeded({ sessionId: 't' }),
    decided({ parentCallId: 'p' }), decided({ parentCallId: 'q', use: 'fs.read' }), decided({ use: 'fs.write' }),
    succeeded({ attempt: 2 }), succeeded({ attempt: 1, resultChars: 7 }),
    succeeded({ began: ['writes a'], resultChars: 7 }), succeeded({ phases: [{ kind: 'run', fromMs: 1, ms: 9 }] }),
    succeeded({ replayed: true, uses: [{ part: 'net', subject: 'GET x', fromMs: 1, ms: 2 }], moreUses: 4 }),
    succeeded({ tool: 'other' }), succeeded({ origin: null }),
    {
      type: 'ToolInvocationFailed', at, sessionId: 's', callId: 'c', tool: 'echo', origin, durationMs: 1,
      errorClass: 'ToolTerminal', errorCode: 'NotFound', message: 'no',
    },
    {
      type: 'ToolInvocationCancelled', at, sessionId: 's', callId: 'c', tool: 'echo', origin, durationMs: 1, attempt: 0,
      errorCode: 'RuleDenied', reason: 'no',
    },
    { type: 'SessionOpened', at, sessionId: 's', workspace: '/w', parentId: 'p' },
    { type: 'SessionOpened', at, sessionId: 'p', workspace: '/w' },
  ]
  const all = [...alike, ...others, ...alike, ...others]
  expect(gather(all).records()).toEqual(all.map(expected))
})

test('more tools than the cache holds are recorded in the same way', LONG, () => {
  const events = Array.from({ length: 3_000 }, (_, index) =>
    decided({ tool: `tool${index % 1_500}`, sessionId: `s${index % 7}` }),
  )
  expect(gather(events).records()).toEqual(events.map(expected))
})

test('secrets are removed from forms and from rows', () => {
  const [record] = gather([
    decided({
      tool: 'correct horse', source: 'a correct horse', reason: 'correct horse', callId: 'my correct horse',
      approvalKey: 'of correct horse',
    }),
  ]).records()
  expect(record).toMatchObject({
    tool: '[redacted]', source: 'a [redacted]', reason: '[redacted]', callId: 'my [redacted]',
    approvalKey: 'of [redacted]',
  })
  expect(gather([decided({ arguments: { token: 't', n: 1 } })], true).records()).toMatchObject([
    { args: { token: '[redacted]', n: 1 } },
  ])
})

test('arguments are kept beside the calling call, and what a call began is redacted', () => {
  const nested = decided({ parentCallId: 'p', arguments: { n: 1 } })
  expect(gather([nested, succeeded({ began: ['writes correct horse.txt', 'runs x'] })], true).records())
    .toMatchObject([{ parentCallId: 'p', args: { n: 1 } }, { began: ['writes [redacted].txt', 'runs x'] }])
})

test('the first record has the number of lost records before it', () => {
  for (const event of [decided(), succeeded(), { type: 'SessionClosed', at, sessionId: 's' } as const]) {
    const gathering = gather([event, event])
    gathering.noteLost(5)
    expect(gathering.records()).toEqual([{ ...expected(event), lostBefore: 5 }, expected(event)])
  }
})
