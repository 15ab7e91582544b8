import type { ExtensionSigner } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { findPinFault, type IdentityPin } from '../../src/signature/signer.ts'

const signer: ExtensionSigner = {
  issuer: 'https://issuer.example', subject: 'https://git.example/a/b/release.yml@refs/heads/main',
  repository: 'https://git.example/a/b',
  workflow: 'https://git.example/a/b/release.yml', ref: 'refs/tags/v1.4.0',
}
const person: ExtensionSigner = {
  issuer: 'https://issuer.example', subject: 'ada@acme.example', repository: null, workflow: null, ref: null,
}

describe('a signer matches', () => {
  test.each<[IdentityPin, ExtensionSigner]>([
    [{ issuer: signer.issuer }, signer], [{ repository: 'https://git.example/a/b' }, signer],
    [{ workflow: 'https://git.example/a/b/release.yml' }, signer], [{ workflow: signer.subject }, signer],
    [{ ref: 'refs/tags/v1.4.0' }, signer], [{ ref: 'refs/tags/v*' }, signer], [{ ref: 'refs/tags/*' }, signer],
    [{ ref: 'refs/**' }, signer],
    [{ issuer: 'https://issuer.example', workflow: 'ada@acme.example' }, person],
  ])('%j', (pin, who) => expect(findPinFault(pin, who)).toBeUndefined())
})

describe('a signer does not match', () => {
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
  ])('%j', (pin, who) => expect(findPinFault(pin, who)).toBeTypeOf('string'))
})

test('escapes invisible characters in a name', () => {
  const fault = findPinFault({ ref: 'refs/heads/main' }, { ...signer, ref: 'refs/heads/main\u{202e}' })
  expect(fault).toContain('"refs/heads/main\\u{202e}"')
})
