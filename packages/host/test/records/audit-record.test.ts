import { expect, test } from 'vitest'
import { textOf } from '../../src/records/audit-forms.ts'
import { createRedaction } from '../../src/records/redaction.ts'

const SECRET = 'correct horse battery staple, and then some more of the same'
const redaction = createRedaction([SECRET])

test('a string is limited in length, and cut between characters', () => {
  expect(textOf('x'.repeat(2_000), redaction)).toBe('x'.repeat(2_000))
  expect(textOf('x'.repeat(2_001), redaction)).toBe('x'.repeat(2_000))
  expect(textOf(`${'x'.repeat(1_999)}😀`, redaction)).toBe(`${'x'.repeat(1_999)}�`)
  expect(textOf(`\ud800${'x'.repeat(10_000)}`, redaction)).toBe(`�${'x'.repeat(1_999)}`)
})

test.each([1, 1_990, 2_000])('a secret at %i is removed, and no part of it is kept', (at) => {
  const kept = textOf(`${'x'.repeat(at)}${SECRET}${'y'.repeat(10_000)}`, redaction)
  expect(kept).not.toContain('co')
  expect(kept.length).toBeLessThanOrEqual(2_000)
})

test('a secret at the end of the examined part is not kept in part, also if much is removed', () => {
  for (let before = 0; before < SECRET.length; before++) {
    expect(textOf(`${'x'.repeat(before)}${SECRET.repeat(200)}`, redaction)).not.toContain('co')
  }
})

test('a string that is mostly removed is replaced by a note', () => {
  const note = '[the rest is not kept: it may hold half of a secret]'
  expect(textOf(SECRET.repeat(200), redaction)).toBe(note)
  const some = textOf(`${'x'.repeat(4_500)}${SECRET.repeat(200)}`, redaction)
  expect(some).toBe(`${'x'.repeat(some.length - note.length)}${note}`)
  expect(textOf(`${'x'.repeat(1_990)}${SECRET}`.padEnd(6_000, SECRET), redaction).slice(1_980, 2_000)).toBe(
    'xxxxxxxxxx[redacted]',
  )
  for (let before = 5_000; before < 7_000; before += 10)
    expect(textOf(`${'x'.repeat(before)}${SECRET.repeat(200)}`, redaction).length).toBeLessThanOrEqual(2_000)
})
