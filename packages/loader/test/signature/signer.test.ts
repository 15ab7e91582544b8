import { describe, expect, test } from 'vitest'
import { readUtf8String, signerOf } from '../../src/signature/signer.ts'

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
