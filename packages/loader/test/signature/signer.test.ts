import type { ExtensionSigner } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import {
  findPinFault, findSignerChange, readUtf8String, signerOf, type IdentityPin,
} from '../../src/signature/signer.ts'

const der = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  const size = bytes.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.from([0x0c, ...length, ...bytes])
}

describe('a string in a certificate', () => {
  test.each([0, 1, 127, 128, 255, 256, 4_000])('is read when it has %i bytes', (length) => {
    expect(readUtf8String(der('x'.repeat(length)))).toBe('x'.repeat(length))
  })

  test.each([
    [], [0x0c], [0x0c, 0x80], [0x0c, 0x81], [0x0c, 2, 0x61], [0x0c, 1, 0x61, 0x62], [0x13, 1, 0x61],
    [0x0c, 0x83, 0, 0, 1, 0x61], [0x0c, 1, 0xff],
  ].map((bytes) => [Buffer.from(bytes)]))('is not guessed from %j', (bytes) => expect(readUtf8String(bytes)).toBeNull())
})

describe('the signer', () => {
  const extension = (number: number, text: string) =>
    ({ oid: { id: [1, 3, 6, 1, 4, 1, 57264, 1, number] }, value: der(text) })

  test('is undefined without a subject or an issuer', () => {
    expect(signerOf({ oids: [extension(8, 'https://issuer.example')] })).toBeNull()
    expect(signerOf({ subjectAlternativeName: 'ada@acme.example' })).toBeNull()
  })

  test('may have its issuer in the older extension', () => {
    const identity = { subjectAlternativeName: 'ada@acme.example', extensions: { issuer: 'https://issuer.example' } }
    expect(signerOf(identity)).toMatchObject({
      issuer: 'https://issuer.example', subject: 'ada@acme.example', workflow: null,
    })
  })

  test('has no repository if the certificate has two', () => {
    const twice = ['https://git.example/a', 'https://git.example/b'].map((repository) => extension(12, repository))
    const oids = [extension(8, 'https://issuer.example'), ...twice]
    expect(signerOf({ subjectAlternativeName: 'https://git.example/a/x.yml@refs/heads/main', oids })).toMatchObject(
      { repository: null, workflow: null },
    )
  })
})

const signer: ExtensionSigner = {
  issuer: 'https://issuer.example', subject: 'https://git.example/a/b/release.yml@refs/heads/main',
  repository: 'https://git.example/a/b',
  workflow: 'https://git.example/a/b/release.yml', ref: 'refs/tags/v1.4.0',
}
const person: ExtensionSigner = {
  issuer: 'https://issuer.example', subject: 'ada@acme.example', repository: null, workflow: null, ref: null,
}

describe('a signer matches a pin', () => {
  test.each<[IdentityPin, ExtensionSigner]>([
    [{ issuer: signer.issuer }, signer], [{ repository: 'https://git.example/a/b' }, signer],
    [{ workflow: 'https://git.example/a/b/release.yml' }, signer], [{ workflow: signer.subject }, signer],
    [{ ref: 'refs/tags/v1.4.0' }, signer], [{ ref: 'refs/tags/v*' }, signer], [{ ref: 'refs/tags/*' }, signer],
    [{ ref: 'refs/**' }, signer],
    [{ issuer: 'https://issuer.example', workflow: 'ada@acme.example' }, person],
  ])('the pin %j matches', (pin, who) => expect(findPinFault(pin, who)).toBeUndefined())
})

describe('a signer does not match a pin', () => {
  test.each<[IdentityPin, ExtensionSigner]>([
    [{}, signer], [{ issuer: 'https://issuer.example/' }, signer], [{ issuer: 'https://issuer' }, signer],
    [{ repository: 'a/b' }, signer], [{ repository: 'https://git.example/a/*' }, signer],
    [{ repository: 'https://git.example/A/b' }, signer],
    [{ workflow: 'release.yml' }, signer],
    [{ workflow: 'https://git.example/a/b/release.yml@refs/heads/other' }, signer],
    [{ ref: 'refs/tags' }, signer], [{ ref: 'refs/*' }, signer], [{ ref: 'v1.4.0' }, signer],
    [{ ref: 'refs/heads/**' }, signer],
    [{ ref: '' }, signer], [{ repository: signer.repository!, ref: 'refs/heads/main' }, signer],
    [{ repository: 'https://git.example/a/b' }, person], [{ ref: '**' }, person], [{ workflow: 'ada@acme' }, person],
  ])('the pin %j does not match', (pin, who) => expect(findPinFault(pin, who)).toBeTypeOf('string'))
})

test('escapes invisible characters in a name', () => {
  const fault = findPinFault({ ref: 'refs/heads/main' }, { ...signer, ref: 'refs/heads/main\u{202e}' })
  expect(fault).toContain('"refs/heads/main\\u{202e}"')
})

const WORKFLOW = 'https://github.com/acme/weather/.github/workflows/publish.yml'
const BUILD: ExtensionSigner = {
  issuer: 'https://token.actions.githubusercontent.com', subject: `${WORKFLOW}@refs/tags/v1`,
  repository: 'https://github.com/acme/weather', workflow: WORKFLOW, ref: 'refs/tags/v1',
}
const PERSON: ExtensionSigner = {
  issuer: 'https://accounts.example', subject: 'ada@example.com', repository: null, workflow: null, ref: null,
}

test.each<[string, ExtensionSigner, ExtensionSigner]>([
  ['a later tag', BUILD, { ...BUILD, subject: `${WORKFLOW}@refs/tags/v2`, ref: 'refs/tags/v2' }],
  ['another branch', { ...BUILD, ref: 'refs/heads/main' }, { ...BUILD, ref: 'refs/heads/next' }],
  ['the same person', PERSON, { ...PERSON }],
])('%s is the same signer', (_, accepted, actual) => {
  expect(findSignerChange(accepted, actual)).toBeUndefined()
})

test.each<[string, ExtensionSigner, ExtensionSigner | null]>([
  ['no signer', BUILD, null],
  ['another issuer', BUILD, { ...BUILD, issuer: 'https://elsewhere.example' }],
  ['another repository', BUILD, { ...BUILD, repository: 'https://github.com/eve/weather' }],
  ['another workflow', BUILD, { ...BUILD, workflow: `${WORKFLOW}2` }],
  ['a branch instead of a tag', BUILD, { ...BUILD, ref: 'refs/heads/v1' }],
  ['no ref instead of a tag', BUILD, { ...BUILD, ref: null }],
  ['a person instead of a build', BUILD, PERSON],
  ['another person', PERSON, { ...PERSON, subject: 'eve@example.com' }],
  ['a person of another issuer', PERSON, { ...PERSON, issuer: 'https://elsewhere.example' }],
])('%s is another signer', (_, accepted, actual) => {
  expect(findSignerChange(accepted, actual)).toMatch(/^was signed by .+ and is (not )?signed .*now$/)
})
