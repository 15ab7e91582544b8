import type { CallLog } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LogReporter, ProgressReporter } from '../../../src/mcp/serving/call-reports.ts'

/** A connection on which each message waits until it is released. */
function slowConnection() {
  const sent: unknown[][] = []
  let release = () => {}
  const reporter = new ProgressReporter(({ progress, message, total }) => {
    sent.push([progress, message, ...(total === undefined ? [] : [total])])
    return new Promise((resolve) => { release = resolve })
  })
  const flush = async () => {
    release()
    await new Promise(setImmediate)
  }
  return { sent, reporter, flush }
}

describe('progress', () => {
  it('keeps only the newest message while one is being sent, and counts them', async () => {
    const { sent, reporter, flush } = slowConnection()
    for (const message of ['a', 'b', 'c']) reporter.report({ text: message })
    await flush()
    await flush()
    reporter.report({ text: 'd' })
    expect(sent).toEqual([[1, 'a'], [2, 'c'], [3, 'd']])
  })

  it('sends nothing after the end', async () => {
    const { sent, reporter, flush } = slowConnection()
    reporter.report({ text: 'a' })
    reporter.report({ text: 'b' })
    reporter.end()
    reporter.report({ text: 'c' })
    await flush()
    expect(sent).toEqual([[1, 'a']])
  })

  it('truncates long messages, and continues after a failure', async () => {
    const sent: string[] = []
    const reporter = new ProgressReporter(async ({ message }) => {
      sent.push(message!)
      throw new Error('gone')
    })
    reporter.report({ text: 'x'.repeat(5_000) })
    await new Promise(setImmediate)
    reporter.report({ text: 'y' })
    expect(sent).toEqual([`${'x'.repeat(2_000)}…`, 'y'])
  })

  it('has the measure of the tool, and always grows', async () => {
    const { sent, reporter, flush } = slowConnection()
    const updates = [
      { partial: { progress: 0, total: 100 } }, { partial: { progress: 50, total: 100, message: 'half' } },
      { text: 'note' }, { partial: { progress: 10 } }, { partial: { progress: 100, other: 1 } },
      { partial: { progress: 100, total: 100 } },
    ]
    for (const update of updates) {
      reporter.report(update)
      await flush()
    }
    expect(sent).toEqual([
      [0, undefined, 100], [50, 'half', 100], [50.000001, 'note'], [expect.closeTo(50.000002), undefined],
      [expect.closeTo(50.000003), '{"progress":100,"other":1}'], [100, undefined, 100],
    ])
  })
})

const line = (text: string, level: CallLog['level'] = 'info'): CallLog => ({ callId: 'c', tool: 't', level, text })

describe('log', () => {
  it('sends lines in order, with the levels of the protocol, and none after the end', async () => {
    const sent: string[][] = []
    const log = new LogReporter(async (...parts) => { sent.push(parts) })
    log.report(line('first', 'warn'))
    log.report(line('second\u202e\nrow', 'debug'))
    await log.end()
    log.report(line('late'))
    await log.end()
    expect(sent).toEqual([['warning', 'first', 't'], ['debug', 'second\\u{202e}\nrow', 't']])
  })

  it('keeps a bounded number of lines for a client that does not read, and reports the dropped ones', async () => {
    const sent: string[] = []
    const reading = Promise.withResolvers<void>()
    const log = new LogReporter(async (_level, text) => {
      await reading.promise
      sent.push(text)
      if (text === '1') throw new Error('not sent')
    })
    for (let index = 0; index < 1_000; index++) log.report(line(index === 2 ? 'x'.repeat(10_000) : `${index}`))
    reading.resolve()
    await log.end()
    expect(sent).toHaveLength(130)
    expect(sent.at(-1)).toBe('871 lines of the log were dropped, because they came too fast.')
    expect(sent[2]!.length).toBe(8_193)
  })
})
