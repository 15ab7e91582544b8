import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { CancelScope } from '../../src/sessions/cancel-scope.ts'

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

test('listeners hear of it once, at once when they are late, and not after they were disposed of', () => {
  const scope = new CancelScope()
  const heard: string[] = []
  scope.onCancel(({ message }) => heard.push(`a ${message}`))
  scope.onCancel(({ message }) => heard.push(`b ${message}`))()
  scope.cancel(reason('now'))
  scope.cancel(reason('again'))
  scope.onCancel(({ message }) => heard.push(`late ${message}`))
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
