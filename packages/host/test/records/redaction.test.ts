import { expect, test } from 'vitest'
import { createRedaction } from '../../src/records/redaction.ts'

const redaction = createRedaction(['hunter-2.[x]', 'short', 'hunter-2.[x]-longer'])

test.each([
  ['a declared value, as it is', 'say hunter-2.[x] aloud', 'say [redacted] aloud'],
  ['the longer of two that begin alike', 'hunter-2.[x]-longer', '[redacted]'],
  ['a word that is too short to be a secret is kept', 'a short word', 'a short word'],
  ['what follows a scheme', 'Authorization: Bearer abcdef0123456789', 'Authorization: [redacted]'],
  ['a token of a forge', 'push with ghp_0123456789abcdefghij now', 'push with [redacted] now'],
  ['a key of a cloud', 'AKIAABCDEFGHIJKLMNOP', '[redacted]'],
  ['a signed token', 'eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl', '[redacted]'],
  ['a signed token behind a hyphen', 'id-eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl, x', '[redacted], x'],
  ['no text of three parts', 'packages-and-versions.of-something.else', 'packages-and-versions.of-something.else'],
  ['a private key, also one that was cut', '-----BEGIN RSA PRIVATE KEY-----\nMIIE', '[redacted]'],
  ['the value of a name in a file', 'user=ann\nDB_PASSWORD=hunter2\n', 'user=ann\nDB_PASSWORD=[redacted]\n'],
  ['the value of a name in an address', 'https://a/?api_key=abc123&page=2', 'https://a/?api_key=[redacted]&page=2'],
  ['the value of a name in JSON', '{"accessToken": "abc123", "n": 1}', '{"accessToken": "[redacted]", "n": 1}'],
  [
    'the value of a name in JSON inside of JSON', String.raw`"{\"secret\":\"abc123\"}"`,
    String.raw`"{\"secret\":\"[redacted]\"}"`,
  ],
  ['no type and no call', 'let token: string; token=next.token()', 'let token: string; token=next.token()'],
  ['ordinary text', 'git status --short', 'git status --short'],
])('the redacted text is as expected: %s', (_, text, kept) => {
  expect(redaction.text(text)).toBe(kept)
  for (let time = 0; time < 3; time++) expect(redaction.repeated(text)).toBe(kept)
})

test('a declared value is found in each of its encodings', () => {
  const value = 'pa"ss/wörd +\n'
  const { text } = createRedaction([value])
  const encoded = [
    JSON.stringify(value).slice(1, -1), encodeURIComponent(value), Buffer.from(value).toString('base64'),
    Buffer.from(value).toString('base64url'),
  ]
  for (const form of [value, ...encoded]) expect(text(`<${form}>`)).toMatch(/^<\[redacted\]=*>$/)
})

test('repeated values are redacted alike, at any number and length', () => {
  for (let index = 0; index < 2_000; index++) {
    expect(redaction.repeated(`${index} hunter-2.[x]`)).toBe(`${index} [redacted]`)
  }
  const long = 'a'.repeat(300)
  expect(redaction.repeated(`${long} hunter-2.[x]`)).toBe(`${long} [redacted]`)
})

test('members with the name of a secret are removed, others are searched', () => {
  const value = {
    'apiKey': { deep: 1 }, 'PASSWORD': 'x', 'set-cookie': ['a'], 'list': [{ note: 'hunter-2.[x]', accessToken: 7 }],
    'n': 1, 'none': null,
    'hunter-2.[x]': true,
  }
  expect(redaction.value(value)).toEqual({
    apiKey: '[redacted]', PASSWORD: '[redacted]', 'set-cookie': '[redacted]',
    list: [{ note: '[redacted]', accessToken: '[redacted]' }], n: 1, none: null, '[redacted]': true,
  })
  expect(value.list[0]!.note).toBe('hunter-2.[x]')
})
