import { expect, it } from 'vitest'
import { requireSecret, signMessage, SignedMessages } from '../src/signed-message.ts'

const [SECRET, NOW] = ['s'.repeat(32), 1_700_000_000_000]
const headersOf = (signature: object) => new Headers(signature as Record<string, string>)

it('a signed message counts once, for its purpose, near its time', () => {
  const messages = new SignedMessages(SECRET, 'answer')
  const headers = headersOf(signMessage(SECRET, 'answer', '{}', NOW))
  expect(messages.fault(headers, '{}', NOW)).toBeUndefined()
  expect(messages.fault(headers, '{}', NOW)).toBe('it was sent before')
  const fresh = () => headersOf(signMessage(SECRET, 'answer', '{}', NOW))
  expect(messages.fault(fresh(), '{} ', NOW)).toBe('its signature is wrong')
  for (const [secret, purpose] of [[SECRET, 'question'], ['t'.repeat(32), 'answer']] as const) {
    const other = headersOf(signMessage(secret, purpose, '{}', NOW))
    expect(messages.fault(other, '{}', NOW)).toBe('its signature is wrong')
  }
  expect(messages.fault(fresh(), '{}', NOW + 301_000)).toBe('its time is not the present')
  expect(messages.fault(fresh(), '{}', NOW - 301_000)).toBe('its time is not the present')
  expect(messages.fault(new Headers(), '{}', NOW)).toBe('it is not signed')
  const changed = fresh()
  changed.set('bulkhead-timestamp', String(NOW / 1000 + 1))
  expect(messages.fault(changed, '{}', NOW)).toBe('its signature is wrong')
})

it('a short secret is refused', () => {
  expect(() => requireSecret('secret')).toThrow(/6 characters; at least 32/)
})
