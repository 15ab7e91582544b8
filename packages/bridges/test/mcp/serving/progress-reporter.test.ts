import { expect, it } from 'vitest'
import { ProgressReporter } from '../../../src/mcp/serving/client-request.ts'

/** A connection on which each message waits until it is released. */
function slowConnection() {
  const sent: (readonly [number, string])[] = []
  let release = () => {}
  const reporter = new ProgressReporter((progress, message) => {
    sent.push([progress, message])
    return new Promise((resolve) => { release = resolve })
  })
  const flush = async () => {
    release()
    await new Promise(setImmediate)
  }
  return { sent, reporter, flush }
}

it('keeps only the newest message while one is being sent, and counts them', async () => {
  const { sent, reporter, flush } = slowConnection()
  for (const message of ['a', 'b', 'c']) reporter.report(message)
  await flush()
  await flush()
  reporter.report('d')
  expect(sent).toEqual([[1, 'a'], [2, 'c'], [3, 'd']])
})

it('sends nothing after the end', async () => {
  const { sent, reporter, flush } = slowConnection()
  reporter.report('a')
  reporter.report('b')
  reporter.end()
  reporter.report('c')
  await flush()
  expect(sent).toEqual([[1, 'a']])
})

it('truncates long messages, and continues after a failure', async () => {
  const sent: string[] = []
  const reporter = new ProgressReporter(async (_, message) => {
    sent.push(message)
    throw new Error('gone')
  })
  reporter.report('x'.repeat(5_000))
  await new Promise(setImmediate)
  reporter.report('y')
  expect(sent).toEqual([`${'x'.repeat(2_000)}…`, 'y'])
})
