import { describe, expect, it } from 'vitest'
import { LOCK_FILE, lockFileSchema } from '../src/lock.ts'

const hex = (digit: string) => digit.repeat(128)
const entry = {
  version: '1.4.0', root: hex('a'), source: 'npm:@acme/weather@1.4.0', signer: null, signedBy: null, capability: hex('b'),
  capabilities: { env: ['TOKEN'], secrets: [], tools: { forecast: { net: { hosts: ['api.example'] } } } },
  tools: { forecast: hex('c') }, accepted: { at: '2026-11-15T04:00:00.000Z', by: 'ann' },
}
const lock = (over: object) => lockFileSchema.safeParse({ lockVersion: 1, extensions: { weather: { ...entry, ...over } } })

describe('the lock', () => {
  it('has a name that others rely on', () => expect(LOCK_FILE).toBe('bulkhead.lock'))

  it('takes an entry as it is written', () => expect(lock({})).toMatchObject({ success: true, data: { extensions: { weather: entry } } }))

  it.each([
    ['another version of the form', { lockVersion: 2, extensions: {} }],
    ['a key that is not known', { lockVersion: 1, extensions: {}, more: 1 }],
    ['an id that is a path', { lockVersion: 1, extensions: { '../evil': entry } }],
  ])('refuses %s', (_, value) => expect(lockFileSchema.safeParse(value).success).toBe(false))

  it.each([
    ['a digest that is none', { root: 'abc' }],
    ['a source that is a path', { source: '/etc' }],
    ['a time that is none', { accepted: { at: 'yesterday', by: 'ann' } }],
    ['nobody who accepted', { accepted: { at: entry.accepted.at, by: '' } }],
    ['powers that do not exist', { capabilities: { ...entry.capabilities, tools: { forecast: { root: true } } } }],
    ['half a signer', { signer: { issuer: 'x' } }],
  ])('refuses an entry with %s', (_, over) => expect(lock(over).success).toBe(false))
})
