import { expect, it } from 'vitest'
import { ProgressReporter } from '../../../src/mcp/serving/client-request.ts'

/** A wire on which each note waits until it is let go. */
function slowWire() {
  const sent: (readonly [number, string])[] = []
  let release = () => {}
  const notes = new ProgressReporter((progress, message) => {
    sent.push([progress, message])
    return new Promise((resolve) => { release = resolve })
  })
  const flush = async () => {
    release()
    await new Promise(setImmediate)
  }
  return { sent, notes, flush }
}

it('keeps only the newest progress while a note is being sent, and numbers what leaves', async () => {
  const { sent, notes, flush } = slowWire()
  for (const message of ['a', 'b', 'c']) notes.report(message)
  await flush()
  await flush()
  notes.report('d')
  expect(sent).toEqual([[1, 'a'], [2, 'c'], [3, 'd']])
})

it('tells nothing behind the end', async () => {
  const { sent, notes, flush } = slowWire()
  notes.report('a')
  notes.report('b')
  notes.end()
  notes.report('c')
  await flush()
  expect(sent).toEqual([[1, 'a']])
})

it('cuts what is long, and goes on where a note was not taken', async () => {
  const sent: string[] = []
  const notes = new ProgressReporter(async (_, message) => {
    sent.push(message)
    throw new Error('gone')
  })
  notes.report('x'.repeat(5_000))
  await new Promise(setImmediate)
  notes.report('y')
  expect(sent).toEqual([`${'x'.repeat(2_000)}…`, 'y'])
})
