import type { CallTerms, OpenCall } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { Notebook } from '../../src/sqlite/journal-file.ts'
import { CallNotes, callsIn } from '../../src/sqlite/work/call-notes.ts'

const origin = { layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd' } as const
const termsOf = (sessionId = 's', tool = 'echo', from: object = origin): CallTerms =>
  ({ sessionId, tool, origin: from as CallTerms['origin'], effects: 'once' })
const TERMS = termsOf()
const callOf = (callId: string, terms = TERMS): OpenCall => ({ terms, callId })

/** The notes by number. */
function notebook() {
  const open = new Map<number, string>()
  const book: Notebook = {
    put: (id, text) => void open.set(id, text), drop: (id) => void open.delete(id), save() {},
    requireFile() {}, close() {},
    get isEmpty() { return open.size === 0 },
  }
  return { open, notes: new CallNotes(book), left: () => callsIn([...open.values()]) }
}

test('common parts of calls are written once, and each call is complete for the next process', () => {
  const { open, notes, left } = notebook()
  const other = { ...origin, digest: 'e' }
  const calls = [
    callOf('a'), callOf('b'), callOf('"\n\u2028'), callOf('c', termsOf('t')), callOf('d', termsOf('s', 'other')),
    callOf('e', termsOf('s', 'echo', other)), callOf('f'),
  ]
  const numbers = calls.map((call, index) => notes.put(call, index))
  expect(open.size).toBe(calls.length + 4)
  expect([...open.values()].every((text) => !text.includes('\n'))).toBe(true)
  expect(left()).toEqual(calls.map(({ terms, callId }, index) => ({ ...terms, callId, startedAt: index, begun: [] })))
  for (const number of numbers.slice(1)) notes.drop(number)
  expect(left()).toMatchObject([{ callId: 'a' }])
})

test('numbers of ended calls are reused, numbers of open calls are not', () => {
  const { open, notes, left } = notebook()
  const [first, second] = [notes.put(callOf('a'), 0), notes.put(callOf('b'), 0)]
  notes.drop(first)
  expect(notes.put(callOf('c'), 0)).toBe(first)
  const next = notes.put(callOf('d'), 0)
  expect(new Set([first, second, next]).size).toBe(3)
  expect(left().map(({ callId }) => callId).toSorted()).toEqual(['b', 'c', 'd'])
  expect(open.size).toBe(4)
})

test('unused forms are removed when there are many, or on request', () => {
  const { open, notes, left } = notebook()
  notes.put(callOf('stays'), 0)
  for (let n = 0; n < 1_000; n++) notes.drop(notes.put(callOf('passes', termsOf(`session ${n}`)), 0))
  expect(open.size).toBeLessThan(300)
  expect(left()).toMatchObject([{ callId: 'stays', sessionId: 's' }])
  notes.dropUnused()
  expect(open.size).toBe(2)
  notes.put(callOf('again', termsOf('session 999')), 0)
  expect(left()).toMatchObject([{ callId: 'stays' }, { callId: 'again', sessionId: 'session 999' }])
})

test('forms beyond the limit are kept while calls use them', () => {
  const { notes, left } = notebook()
  for (let n = 0; n < 600; n++) notes.put(callOf('c', termsOf(`session ${n}`)), 0)
  expect(left()).toHaveLength(600)
})

test('notes of an unknown form are skipped', () => {
  const form = JSON.stringify({ form: 1, sessionId: 's', tool: 't', origin })
  expect(
    callsIn(['', 'nonsense', 'null', '7', '{}', '[]', '[1]', '[1,"c"]', '[2,"c",0]', '["1","c",0]', form]),
  ).toEqual([])
  expect(callsIn(['[1,"c",0]', form])).toEqual([
    { sessionId: 's', tool: 't', origin, callId: 'c', startedAt: 0, begun: [] },
  ])
})
