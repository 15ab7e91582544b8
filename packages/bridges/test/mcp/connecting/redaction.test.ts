import { expect, it } from 'vitest'
import { redactorOf } from '../../../src/connected/server-log.ts'

it('removes secrets, also without their scheme and in JSON', () => {
  const redact = redactorOf(new Map([['TOKEN', 'Bearer abcdefgh'], ['QUOTED', 'pass"word\n1']]))
  expect(redact('a Bearer abcdefgh, abcdefgh')).toBe('a [secret TOKEN], [secret TOKEN]')
  expect(redact(JSON.stringify({ said: 'pass"word\n1' }))).toBe('{"said":"[secret QUOTED]"}')
  expect(redactorOf(new Map())('abcdefgh')).toBe('abcdefgh')
})

it('a secret that begins another one leaves nothing of that one', () => {
  const redact = redactorOf(new Map([['SHORT', 'abcdefgh'], ['LONG', 'abcdefghijklmnop']]))
  expect(redact('abcdefghijklmnop, abcdefgh')).toBe('[secret LONG], [secret SHORT]')
})

it('a value of one letter after Bearer does not remove that letter everywhere', () => {
  expect(redactorOf(new Map([['TOKEN', 'Bearer a']]))('a banana, Bearer a')).toBe('a banana, [secret TOKEN]')
})
