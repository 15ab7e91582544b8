import { expect, it } from 'vitest'
import { traceOf } from '../src/session/trace.ts'
import { errorReport, toWireError } from '../src/wire/errors.ts'
import { LogSender } from '../src/extension/capabilities.ts'

const nested = (depth: number): Error => new Error(`${depth}`, depth === 1 ? {} : { cause: nested(depth - 1) })

it('an error is sent with short texts, few causes, and data within limits', () => {
  const long = 'x'.repeat(20_000)
  const sent = toWireError(Object.assign(new Error(long), { code: long, name: long, stack: long, data: [1] }))
  const { name, message, code, stack } = sent
  expect([name, message, code, stack].map((text) => text?.length)).toEqual([10_000, 10_000, 10_000, 10_000])
  expect(sent.data).toEqual([1])
  let depth = 0
  for (let at: typeof sent | undefined = toWireError(nested(6)); at; at = at.cause) depth++
  expect(depth).toBe(4)
  for (const data of [Array.from({ length: 1_001 }, () => 1), 'x'.repeat(10_001)]) {
    expect(toWireError(Object.assign(new Error('a'), { data })).data).toBeUndefined()
  }
})

const frame = (index: number): string => `    at f${index} (tool://a/index.js:${index + 1}:1)`

it('the end of a thread is reported with a short message and the first frames', () => {
  const stack = Array.from({ length: 100 }, (_, index) => frame(index)).join('\n')
  const report = errorReport({ message: 'x'.repeat(5_000), stack })
  expect(report).toMatchObject({ type: 'error', message: 'x'.repeat(2_000) })
  const { stack: kept = '' } = report as { stack?: string }
  expect([kept.length > 900, kept.length <= 1_000, kept.startsWith(frame(0))]).toEqual([true, true, true])
})

it('a trace has the first 50 lines, without long ones', () => {
  const traced = (lines: readonly string[]) =>
    traceOf(Object.assign(new Error('a'), { stack: lines.join('\n') }), { kind: 'files' } as never)[0]?.frames.length
  expect(traced(['Error: a', ...Array.from({ length: 60 }, (_, index) => frame(index))])).toBe(49)
  const path = `tool://a/${'x'.repeat(2_000)}.js:1:1`
  expect([traced(['Error: a', `    at f (${path})`, frame(0)]), traced([`    at f (${path})`])]).toEqual([1, undefined])
})

it('log lines are cut, and dropped and counted while many are on their way', async () => {
  const sent: string[] = []
  const arrived: (() => void)[] = []
  const sender = new LogSender((_method, _call, _level, text) => {
    sent.push(String(text))
    return new Promise((resolve) => void arrived.push(() => resolve(null)))
  })
  sender.send('info', 'x'.repeat(10_000), null)
  for (let index = 1; index < 300; index++) sender.send('info', 'line', null)
  expect([sent.length, sent[0]!.length]).toEqual([256, 8_192])
  for (const arrive of arrived) arrive()
  await new Promise(setImmediate)
  sender.send('info', 'next', null)
  expect(sent.at(-1)).toBe('next (44 lines before this one were dropped)')
})
