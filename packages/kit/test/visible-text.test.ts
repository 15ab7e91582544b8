import { describe, expect, it } from 'vitest'
import { givesAdvice, visibleJson, visibleText } from '../src/text.ts'

describe('visible text', () => {
  it.each([
    ['an escape sequence', '\u001b[2Jgone', '\\u{1b}[2Jgone'],
    ['an operating system command', '\u001b]0;title\u0007', '\\u{1b}]0;title\\u{7}'],
    ['a carriage return that would overwrite the line', 'rm\rls', 'rm\\u{d}ls'],
    ['bidirectional overrides', 'a\u202eb\u2066', 'a\\u{202e}b\\u{2066}'],
    ['zero-width characters and tags', 'a\u200bb\u{e0041}', 'a\\u{200b}b\\u{e0041}'],
    ['a filler that looks like a space', '\u3164', '\\u{3164}'],
    ['half of a surrogate pair', 'a\ud800', 'a\\u{d800}'],
    ['a C1 control', '\u009b31m', '\\u{9b}31m'],
    ['a variation selector without effect', 'rm\ufe0f', 'rm\\u{fe0f}'],
    ['a mark without a base character', '"\u0338a', '"\\u{338}a'],
    ['stacked marks', `a${'\u0301'.repeat(5)}`, `a${'\u0301'.repeat(4)}\\u{301}`],
    ['ordinary text of any language', 'zürich 東京 😀 عربي', 'zürich 東京 😀 عربي'],
    [
      'letters with marks',
      'हिन्दी ไทย กี่น้ำ נִקּוּד e\u0323\u0302',
      'हिन्दी ไทย กี่น้ำ נִקּוּד e\u0323\u0302',
    ],
    ['emoji with variation selectors', '❤️ ✔️ 1️⃣', '❤️ ✔️ 1️⃣'],
    ['line breaks and tabs', 'a\nb\tc', 'a\\u{a}b\\u{9}c'],
  ])('shows %s', (_, text, shown) => {
    expect(visibleText(text)).toBe(shown)
  })

  it('visibleJson does not change the parsed value', () => {
    const value = { a: 'x\u202e\u009b\u{e0041}', literal: '\\u{1b}', text: 'é 東京' }
    const json = visibleJson(JSON.stringify(value, null, 2))
    expect(json).toContain('"x\\u202e\\u009b\\udb40\\udc41"')
    expect(json).toContain('é 東京')
    expect(JSON.parse(json)).toEqual(value)
  })

  it('keepLines keeps only line feeds and tabs', () => {
    expect(visibleText('a\nb\tc\r', { keepLines: true })).toBe('a\nb\tc\\u{d}')
  })
})

it('givesAdvice recognizes a message of several sentences', () => {
  expect(['No.', 'It is 1.5 ms late', 'e.g. this one.', 'a. b', ''].filter(givesAdvice)).toEqual([])
  expect(['It failed. Try again.', 'Why? Because', 'No! Ändere es.'].filter((message) => !givesAdvice(message)))
    .toEqual([])
})
