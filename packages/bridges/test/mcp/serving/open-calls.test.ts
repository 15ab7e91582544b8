import type { Outcome } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { LogReporter, ProgressReporter } from '../../../src/mcp/serving/call-reports.ts'
import type { ClientRequest } from '../../../src/mcp/serving/client-request.ts'
import { OpenCalls } from '../../../src/mcp/serving/open-calls.ts'

const outcome: Outcome = {
  type: 'output', data: 1, metadata: { call_id: 'c', tool: 't', origin: null, duration_ms: 1, attempt: 1 },
}
const request = (signal = new AbortController().signal): ClientRequest =>
  ({
    signal, client: 'editor', canAsk: true, takesTasks: false, progress: new ProgressReporter(async () => {}),
    log: new LogReporter(async () => {}),
  })

/** Calls whose tools ignore cancellation. */
function stubborn(maxOpen: number) {
  const ends: (() => void)[] = []
  const calls = new OpenCalls({
    maxOpen, answerWithinMs: 1_000, run: () => new Promise((resolve) => { ends.push(() => resolve(outcome)) }),
  })
  return { calls, ends }
}

it('counts a cancelled call until its tool has stopped', async () => {
  const { calls, ends } = stubborn(2)
  const stop = new AbortController()
  const cancelled = calls.begin({ name: 't' }, request(stop.signal))
  const step = cancelled.next(request(stop.signal))
  calls.begin({ name: 't' }, request())
  stop.abort()
  expect(() => calls.begin({ name: 't' }, request())).toThrow(expect.objectContaining({ code: -32000 }))
  ends[0]!()
  expect(await step).toEqual({ kind: 'ended', outcome })
  expect(calls.begin({ name: 't' }, request()).id).toBe('mcp-3')
})

it('assigns a question to its call, to the caller of that call, or to the oldest call', () => {
  const { calls } = stubborn(9)
  const [first, second] = [calls.begin({ name: 't' }, request()), calls.begin({ name: 't' }, request())]
  expect(calls.askedFor(second.id)).toBe(second)
  expect(calls.askedFor(`${second.id}.7.1`)).toBe(second)
  expect(calls.askedFor(undefined)).toBe(first)
  expect(calls.askedFor('of a sub-agent')).toBe(first)
  expect(calls.find('of a sub-agent')).toBeUndefined()
  expect(stubborn(1).calls.askedFor(undefined)).toBeUndefined()
})
