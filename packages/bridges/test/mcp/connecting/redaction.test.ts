import { expect, it } from 'vitest'
import { redactorOf } from '../../../src/mcp/connecting/call-outcome.ts'

it('takes values out wherever they stand, also without their scheme and as JSON writes them', () => {
  const redact = redactorOf(new Map([['TOKEN', 'Bearer abcdefgh'], ['QUOTED', 'pass"word\n1']]))
  expect(redact('a Bearer abcdefgh, abcdefgh')).toBe('a [secret TOKEN], [secret TOKEN]')
  expect(redact(JSON.stringify({ said: 'pass"word\n1' }))).toBe('{"said":"[secret QUOTED]"}')
  expect(redactorOf(new Map())('abcdefgh')).toBe('abcdefgh')
})
