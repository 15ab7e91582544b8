import { describe, expect, it } from 'vitest'
import { LOCK_FILE } from '../src/model/names.ts'
import { lockFileSchema } from '../src/validation/lock.ts'

const hex = (digit: string) => digit.repeat(128)
const entry = {
  version: '1.4.0', root: hex('a'), source: 'npm:@acme/weather@1.4.0', signer: null, signedBy: null,
  capability: hex('b'),
  capabilities: { env: ['TOKEN'], secrets: [], tools: { forecast: { net: { hosts: ['api.example'] } } } },
  tools: { forecast: hex('c') }, accepted: { at: '2026-11-15T04:00:00.000Z', by: 'ann' },
}
const lock = (over: object) => lockFileSchema.safeParse({
  lockVersion: 1, extensions: { weather: { ...entry, ...over } },
})

describe('the lock', () => {
  it('has this name', () => expect(LOCK_FILE).toBe('bulkhead.lock'))

  it.each(['tarball:weather-1.4.0.tgz', 'folder:weather', 'in-place'])('accepts an entry from %s', (source) => {
    expect(lock({ source }).success).toBe(true)
  })

  it.each(['bundle', 'npm'])(
    'accepts an entry signed by %s', (signedBy) => expect(lock({ signedBy }).success).toBe(true),
  )

  it('accepts as many variables and secrets as a manifest', () => {
    const env = Array.from({ length: 64 }, (_, index) => `TOKEN_${index}`)
    const secrets = Array.from({ length: 16 }, (_, index) => ({ name: `SECRET_${index}`, hosts: ['api.example'] }))
    expect(lock({ capabilities: { ...entry.capabilities, env, secrets } }).success).toBe(true)
  })

  it(
    'keeps an entry unchanged',
    () => expect(lock({})).toMatchObject({ success: true, data: { extensions: { weather: entry } } }),
  )

  it.each([
    ['another version of the form', { lockVersion: 2, extensions: {} }],
    ['a key that is not known', { lockVersion: 1, extensions: {}, more: 1 }],
    ['an id that is a path', { lockVersion: 1, extensions: { '../evil': entry } }],
  ])('rejects %s', (_, value) => expect(lockFileSchema.safeParse(value).success).toBe(false))

  it.each([
    ['a digest that is none', { root: 'abc' }],
    ['a digest and more behind it', { root: `${hex('a')}0` }],
    ['a digest and more before it', { capability: `../${hex('b')}` }],
    ['a source that is a path', { source: '/etc' }],
    ['a source behind something else', { source: 'git+npm:weather@1.4.0' }],
    ['a source and more behind it', { source: 'in-place: not' }],
    ['a signature of a kind that does not exist', { signedBy: 'ann' }],
    ['a time that is none', { accepted: { at: 'yesterday', by: 'ann' } }],
    ['no name of who accepted', { accepted: { at: entry.accepted.at, by: '' } }],
    ['powers that do not exist', { capabilities: { ...entry.capabilities, tools: { forecast: { root: true } } } }],
    ['half a signer', { signer: { issuer: 'x' } }],
  ])('rejects an entry with %s', (_, over) => expect(lock(over).success).toBe(false))
})
