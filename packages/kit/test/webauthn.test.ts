import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { checkPasskey, checkRegistration, mayUsePasskeysOf } from '../src/webauthn.ts'
import { softPasskey, type Signing } from './soft-passkey.ts'

const CHALLENGE = Buffer.alloc(32, 7).toString('base64url')
const ORIGIN = 'http://localhost:8770'
const expected = { challenge: CHALLENGE, isOrigin: (origin: string) => origin === ORIGIN }
const passkey = softPasskey()

it.each(['ES256', 'EdDSA', 'RS256'] as const)('a signature of %s counts, with its counter', (algorithm) => {
  const { key, sign } = softPasskey(algorithm)
  expect(checkPasskey(sign({ challenge: CHALLENGE, counter: 9 }), key, expected)).toEqual({ counter: 9 })
})

it.each<[string, Partial<Signing>, RegExp]>([
  ['another challenge', { challenge: Buffer.alloc(32, 8).toString('base64url') }, /another call/],
  ['another origin', { origin: 'https://localhost:8770' }, /another page/],
  ['another port', { origin: 'http://localhost:8771' }, /another page/],
  ['another relying party', { rpId: 'example.com' }, /not for localhost/],
  ['no person', { flags: 0x04 }, /present/],
  ['a person who was not verified', { flags: 0x01 }, /verified/],
  ['a copy of a passkey that cannot be copied', { flags: 0x15 }, /contradict/],
  ['the flag of a registration', { flags: 0x45 }, /registration/],
  ['the type of a registration', { type: 'webauthn.create' }, /webauthn.get/],
  ['a frame', { client: { crossOrigin: true } }, /frame/],
  ['a frame of another page', { client: { topOrigin: ORIGIN } }, /frame/],
])('a signature with %s does not count', (_, wrong, fault) => {
  const signed = passkey.sign({ challenge: CHALLENGE, ...wrong })
  expect(checkPasskey(signed, passkey.key, expected)).toEqual({ fault: expect.stringMatching(fault) as string })
})

it('a changed signature does not count, nor one of another key or of other bytes', () => {
  const right = passkey.sign({ challenge: CHALLENGE })
  const fault = (given: Partial<typeof right>, key = passkey.key) => checkPasskey({ ...right, ...given }, key, expected)
  expect(fault({})).toEqual({ counter: 0 })
  const other = softPasskey().key
  expect(fault({}, other)).toEqual({ fault: 'it is of another passkey' })
  expect(fault({ credential: other.id }, other)).toEqual({ fault: 'its signature is wrong' })
  expect(fault({ signature: `${right.signature}A` })).toHaveProperty('fault')
  expect(fault({ signature: 'AAAA' })).toEqual({ fault: 'its signature is wrong' })
  const counted = passkey.sign({ challenge: CHALLENGE, counter: 5 })
  expect(fault({ authenticatorData: counted.authenticatorData })).toEqual({ fault: 'its signature is wrong' })
  const longer = Buffer.concat([Buffer.from(right.authenticatorData, 'base64url'), Buffer.alloc(1)])
  expect(fault({ authenticatorData: longer.toString('base64url') })).toEqual({ fault: 'its data is too long' })
  expect(fault({ authenticatorData: 'AAAA' })).toEqual({ fault: 'its data is too short' })
  expect(fault({ clientDataJSON: Buffer.from('[]').toString('base64url') })).toHaveProperty('fault')
  expect(fault({ clientDataJSON: 'not base64' })).toEqual({ fault: 'it is not base64url' })
})

it('keys of other kinds are refused: another curve, a short RSA key, and no key', () => {
  const es384 = softPasskey('ES384')
  expect(checkPasskey(es384.sign({ challenge: CHALLENGE }), es384.key, expected)).toHaveProperty('fault')
  const short = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ type: 'spki', format: 'der' })
  for (const publicKey of [short.toString('base64url'), 'AAAA']) {
    const given = passkey.sign({ challenge: CHALLENGE })
    const key = { ...passkey.key, publicKey }
    expect(checkPasskey(given, key, expected)).toEqual({ fault: 'its public key cannot be used' })
  }
})

it('a registration is for its own credential, page and challenge', () => {
  const { key, sign } = softPasskey()
  const made = sign({ challenge: CHALLENGE, type: 'webauthn.create', flags: 0x45, counter: 3 })
  const id = Buffer.from(key.id, 'base64url')
  const withId = (own: Buffer): string => Buffer.concat([
    Buffer.from(made.authenticatorData, 'base64url'), Buffer.alloc(16), Buffer.from([0, own.length]), own,
  ]).toString('base64url')
  const given = { ...made, publicKey: key.publicKey, authenticatorData: withId(id) }
  expect(checkRegistration(given, 'localhost', expected)).toEqual({ counter: 3 })
  expect(checkRegistration({ ...given, authenticatorData: withId(Buffer.alloc(20)) }, 'localhost', expected))
    .toEqual({ fault: 'it is of another passkey' })
  expect(checkRegistration({ ...given, authenticatorData: made.authenticatorData }, 'localhost', expected))
    .toEqual({ fault: 'it is no registration' })
  expect(checkRegistration(given, 'example.com', expected)).toEqual({ fault: 'it is not for example.com' })
  expect(checkRegistration({ ...given, publicKey: softPasskey('ES384').key.publicKey }, 'localhost', expected))
    .toHaveProperty('fault')
  const used = { ...given, ...sign({ challenge: CHALLENGE }), authenticatorData: withId(id) }
  expect(checkRegistration(used, 'localhost', expected))
    .toEqual({ fault: 'it is not webauthn.create' })
})

it('passkeys are for https, and for http on localhost', () => {
  for (const [origin, rpId, may] of [
    ['http://localhost:8770', 'localhost', true], ['https://localhost:8770', 'localhost', true],
    ['https://ops.example.com', 'example.com', true], ['https://ops.example.com:8443', 'ops.example.com', true],
    ['http://ops.example.com', 'ops.example.com', false], ['http://127.0.0.1:8770', '127.0.0.1', false],
    ['https://example.com', 'ops.example.com', false], ['https://badexample.com', 'example.com', false],
    ['https://example.com', 'com', false], ['https://example.com/', 'example.com', false], ['null', '', false],
  ] as const) expect([origin, rpId, mayUsePasskeysOf(origin, rpId)]).toEqual([origin, rpId, may])
})
