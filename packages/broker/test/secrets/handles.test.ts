import { expect, it } from 'vitest'
import { hasHandle, newHandle, replaceHandles } from '../../src/secrets/secrets.ts'

it('creates a new handle each time, with the name of the secret', () => {
  const handles = Array.from({ length: 1_000 }, () => newHandle('TOKEN'))
  expect(new Set(handles).size).toBe(1_000)
  expect(handles.every((handle) => /^\{\{secret:TOKEN:[\w-]{22}\}\}$/.test(handle) && hasHandle(handle))).toBe(true)
})

it('finds and replaces handles anywhere in a string', () => {
  const [one, two] = [newHandle('ONE'), newHandle('TWO')]
  const values = new Map([[one, '$& $1'], [two, 'two']])
  expect(replaceHandles(`Bearer ${one}${two}, ${two}.`, (handle) => values.get(handle)!)).toBe('Bearer $& $1two, two.')
  expect(hasHandle(`x ${one}`)).toBe(true)
  // The regular expression keeps no state between calls.
  expect(hasHandle(`x ${one}`)).toBe(true)
})

it('ignores strings that are similar to a handle', () => {
  const nonce = 'a'.repeat(22)
  const texts = [
    `{{secret:1ONE:${nonce}}}`, `{secret:ONE:${nonce}}`, `{{secret:ONE:${nonce}a}}`, '{{secret:ONE}}',
    '{{secret:ONE:short}}', '',
  ]
  for (const text of texts) {
    expect(hasHandle(text), text).toBe(false)
    expect(replaceHandles(text, () => 'x')).toBe(text)
  }
})
