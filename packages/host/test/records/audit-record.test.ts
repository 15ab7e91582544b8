import { expect, test } from 'vitest'
import { textOf } from '../../src/records/audit-forms.ts'
import { createRedaction } from '../../src/records/redaction.ts'

const SECRET = 'correct horse battery staple, and then some more of the same'
const redaction = createRedaction([SECRET])

test('a text is kept up to a measure, and not half of a character', () => {
  expect(textOf('x'.repeat(2_000), redaction)).toBe('x'.repeat(2_000))
  expect(textOf('x'.repeat(2_001), redaction)).toBe('x'.repeat(2_000))
  expect(textOf(`${'x'.repeat(1_999)}😀`, redaction)).toBe(`${'x'.repeat(1_999)}�`)
  expect(textOf(`\ud800${'x'.repeat(10_000)}`, redaction)).toBe(`�${'x'.repeat(1_999)}`)
})

test.each([1, 1_990, 2_000])('a secret that begins at %i is not kept, nor a part of it', (at) => {
  const kept = textOf(`${'x'.repeat(at)}${SECRET}${'y'.repeat(10_000)}`, redaction)
  expect(kept).not.toContain('co')
  expect(kept.length).toBeLessThanOrEqual(2_000)
})

test('where much is taken out, a secret at the end of what was looked at is not kept by half either', () => {
  for (let before = 0; before < SECRET.length; before++) {
    expect(textOf(`${'x'.repeat(before)}${SECRET.repeat(200)}`, redaction)).not.toContain('co')
  }
})

test('a text of which little is left says so, and is not taken for an empty one', () => {
  const said = '[the rest is not kept: it may hold half of a secret]'
  expect(textOf(SECRET.repeat(200), redaction)).toBe(said)
  const some = textOf(`${'x'.repeat(4_500)}${SECRET.repeat(200)}`, redaction)
  expect(some).toBe(`${'x'.repeat(some.length - said.length)}${said}`)
  expect(textOf(`${'x'.repeat(1_990)}${SECRET}`.padEnd(6_000, SECRET), redaction).slice(1_980, 2_000)).toBe('xxxxxxxxxx[redacted]')
  for (let before = 5_000; before < 7_000; before += 10) expect(textOf(`${'x'.repeat(before)}${SECRET.repeat(200)}`, redaction).length).toBeLessThanOrEqual(2_000)
})
