import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { CancelScope, type Cancelled } from '../../src/model/cancel-scope.ts'

const reason = (text: string) => new BulkheadError('ToolCancelled', text)

test('a parent cancels what is begun in it, never the reverse, and the first reason stays', () => {
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

test('a signal says the same, whether it was asked for before or after', () => {
  const scope = new CancelScope()
  const before = scope.signal
  const late = scope.begin()
  scope.cancel(reason('enough'))
  expect([before.aborted, before.reason, late.signal.reason]).toEqual([true, scope.reason, scope.reason])
})

test('who watches it is ended once, at once when late, and not after having stopped to watch', () => {
  const scope = new CancelScope()
  const heard: string[] = []
  const watcher = (name: string): Cancelled => ({ end: ({ message }) => void heard.push(`${name} ${message}`) })
  const [a, b] = [watcher('a'), watcher('b')]
  scope.watch(a)
  scope.watch(b)
  scope.unwatch(b)
  scope.unwatch(b)
  scope.cancel(reason('now'))
  scope.cancel(reason('again'))
  scope.watch(watcher('late'))
  expect(heard).toEqual(['a now', 'late now'])
})

test('what is refused goes on; what is begun afterwards is cancelled, and what has ended is forgotten', () => {
  const scope = new CancelScope()
  const [running, over] = [scope.begin(), scope.begin()]
  over.end()
  scope.refuse(reason('too late'))
  expect([running.reason, scope.begin().reason?.message, running.begin().reason?.message]).toEqual([undefined, 'too late', 'too late'])
  scope.cancel(reason('end'))
  expect([running.reason?.message, over.reason]).toEqual(['end', undefined])
})
