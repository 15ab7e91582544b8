import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { CancelScope, type Cancelled } from '../../src/model/cancel-scope.ts'

const reason = (text: string) => new BulkheadError('ToolCancelled', text)

test('a parent cancels its children, never the reverse, and the first reason stays', () => {
  const session = new CancelScope()
  const [turn, other] = [session.begin(), session.begin()]
  const call = turn.begin()
  const first = reason('first')
  turn.cancel(first)
  expect([session, turn, other, call].map((scope) => scope.reason)).toEqual([undefined, first, undefined, first])
  session.cancel(reason('second'))
  expect(call.reason).toBe(first)
  expect(() => call.throwIfCancelled()).toThrow(first)
})

test('the signal has the same state, created before or after the cancellation', () => {
  const scope = new CancelScope()
  const before = scope.signal
  const late = scope.begin()
  scope.cancel(reason('enough'))
  expect([before.aborted, before.reason, late.signal.reason]).toEqual([true, scope.reason, scope.reason])
})

test('a watcher is called once, at once if it is late', () => {
  const scope = new CancelScope()
  const ended: string[] = []
  const watcher = (name: string): Cancelled => ({ end: ({ message }) => void ended.push(`${name} ${message}`) })
  scope.watch(watcher('a'))
  scope.watch(watcher('b'))
  scope.cancel(reason('now'))
  scope.cancel(reason('again'))
  scope.watch(watcher('late'))
  expect(ended).toEqual(['a now', 'b now', 'late now'])
})

test('refuse cancels later children only, and ended children are removed', () => {
  const scope = new CancelScope()
  const [running, over] = [scope.begin(), scope.begin()]
  over.end()
  scope.refuse(reason('too late'))
  expect([running.reason, scope.begin().reason?.message, running.begin().reason?.message]).toEqual([
    undefined, 'too late', 'too late',
  ])
  scope.cancel(reason('end'))
  expect([running.reason?.message, over.reason]).toEqual(['end', undefined])
})
