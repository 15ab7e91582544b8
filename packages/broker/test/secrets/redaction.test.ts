import { describe, expect, it } from 'vitest'
import { SearchTerm, Redaction, REDACTED } from '../../src/secrets/redaction.ts'
import { encodedForms } from '../../src/secrets/vault.ts'

const redactionOf = (...values: readonly string[]): Redaction =>
  new Redaction(values.flatMap(encodedForms).map((form) => new SearchTerm(form, () => true)))

const SECRET = 'pa ss/w"ö+rd'
const MARKUP = '<Key>&\'x\'="é/y"'

describe('redaction', () => {
  it.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['as UTF-8 read as Latin-1', Buffer.from(SECRET).toString('latin1')],
  ])('removes a value %s', (_, text) => {
    expect(redactionOf(SECRET).text(`<${text}>`)).toBe(`<${REDACTED}>`)
  })

  it.each([
    ['in the query of a URL', (value: string) => new URL(`http://x.test/?${value}`).search.slice(1)],
    ['in the path of a URL', (value: string) => new URL(`http://x.test/${value}`).pathname.slice(1)],
    ['in a form', (value: string) => new URLSearchParams({ k: value }).toString().slice(2)],
    ['in a URL with lower-case escapes', (value: string) => encodeURIComponent(value)
      .replaceAll(/%../g, (escape) => escape.toLowerCase())],
    ['in JSON with its slashes escaped', (value: string) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/')],
    ['in ASCII-only JSON', (value: string) => JSON.stringify(value).slice(1, -1).replaceAll('ö', '\\u00f6')
      .replaceAll('é', '\\u00e9')],
    ['in JSON for HTML pages', (value: string) => JSON.stringify(value).slice(1, -1)
      .replaceAll(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)],
    ['in HTML', (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;').replaceAll("'", '&#39;')],
    ['in a host name', (value: string) => value.toLowerCase()],
  ])('removes a value %s', (_, written) => {
    for (const secret of [SECRET, MARKUP, 'Plain-Token_0123456789', 'dG9rZW4/with+all==']) {
      expect(redactionOf(secret).text(`[${written(secret)}]`), secret).toBe(`[${REDACTED}]`)
    }
  })

  it('removes a value as a header carries it', () => {
    const bytes = Buffer.from(`<${SECRET}>`, 'latin1')
    const stream = redactionOf(SECRET).stream()
    const pieces = Array.from(bytes, (_, index) => stream.push(bytes.subarray(index, index + 1)))
    expect(Buffer.concat([...pieces, stream.end()]).toString()).toBe(`<${REDACTED}>`)
  })

  it('removes several values and nothing else', () => {
    const redaction = redactionOf('first secret', 'second secret')
    expect(redaction.text('first secret, third secret, second secret')).toBe(`${REDACTED}, third secret, ${REDACTED}`)
    expect(redaction.text('grüße 漢字 first secre')).toBe('grüße 漢字 first secre')
    expect(redactionOf().text('anything')).toBe('anything')
  })

  it('does not find other encodings', () => {
    const encoded = Buffer.from(SECRET).toString('base64')
    expect(redactionOf(SECRET).text(encoded)).toBe(encoded)
  })
})
