import { expect, it } from 'vitest'
import { hasHandle, newHandle, replaceHandles } from '../../src/secrets/secrets.ts'

it('a handle names its secret and is never the same twice', () => {
  const handles = Array.from({ length: 1_000 }, () => newHandle('TOKEN'))
  expect(new Set(handles).size).toBe(1_000)
  expect(handles.every((handle) => /^\{\{secret:TOKEN:[\w-]{22}\}\}$/.test(handle) && hasHandle(handle))).toBe(true)
})

it('handles are found wherever they stand, and put aside for what they stand for', () => {
  const [one, two] = [newHandle('ONE'), newHandle('TWO')]
  const values = new Map([[one, '$& $1'], [two, 'two']])
  expect(replaceHandles(`Bearer ${one}${two}, ${two}.`, (handle) => values.get(handle)!)).toBe('Bearer $& $1two, two.')
  expect(hasHandle(`x ${one}`)).toBe(true)
  // Asked again, it says the same.
  expect(hasHandle(`x ${one}`)).toBe(true)
})

it('a string similar to a handle is not one', () => {
  const nonce = 'a'.repeat(22)
  const texts = [
    `{{secret:1ONE:${nonce}}}`, `{secret:ONE:${nonce}}`, `{{secret:ONE:${nonce}a}}`, '{{secret:ONE}}', '{{secret:ONE:short}}', '',
  ]
  for (const text of texts) {
    expect(hasHandle(text), text).toBe(false)
    expect(replaceHandles(text, () => 'x')).toBe(text)
  }
})
