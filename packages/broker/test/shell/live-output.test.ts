import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LiveOutput } from '../../src/shell/output.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function listen() {
  const sent: string[] = []
  return { sent, live: new LiveOutput((stream, text) => sent.push(`${stream} ${text}`), 100) }
}

it('collects output and sends each stream at most once per interval', () => {
  const { sent, live } = listen()
  for (const piece of ['a', 'b', 'c']) live.add('stdout', Buffer.from(piece))
  live.add('stderr', Buffer.from('e'))
  vi.advanceTimersByTime(99)
  expect(sent).toEqual([])
  vi.advanceTimersByTime(1)
  expect(sent).toEqual(['stdout abc', 'stderr e'])
  live.add('stdout', Buffer.from('d'))
  vi.advanceTimersByTime(99)
  expect(sent).toHaveLength(2)
  vi.advanceTimersByTime(1)
  expect(sent).toEqual(['stdout abc', 'stderr e', 'stdout d'])
  expect(vi.getTimerCount()).toBe(0)
})

it('does not split characters between chunks or mix streams', () => {
  const { sent, live } = listen()
  const ship = Buffer.from('🚢')
  live.add('stdout', ship.subarray(0, 2))
  live.add('stderr', Buffer.from('x'))
  vi.advanceTimersByTime(100)
  live.add('stdout', ship.subarray(2))
  live.flush()
  expect(sent).toEqual(['stderr x', 'stdout 🚢'])
})

it('sends the rest on flush, discards it on drop, and leaves no timer', () => {
  const { sent, live } = listen()
  live.add('stdout', Buffer.from('rest'))
  live.flush()
  expect(sent).toEqual(['stdout rest'])
  live.add('stdout', Buffer.from('lost'))
  live.drop()
  live.flush()
  expect(sent).toEqual(['stdout rest'])
  expect(vi.getTimerCount()).toBe(0)
})
