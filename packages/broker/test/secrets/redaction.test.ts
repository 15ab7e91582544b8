import { describe, expect, it } from 'vitest'
import { SearchTerm, Redaction, REDACTED } from '../../src/secrets/redaction.ts'
import { encodedForms } from '../../src/secrets/vault.ts'

const redactionOf = (...values: readonly string[]): Redaction =>
  new Redaction(values.flatMap(encodedForms).map((form) => new SearchTerm(form, () => true)))

const SECRET = 'pa ss/w"ö+rd'
const MARKUP = '<Key>&\'x\'="é/y"'

describe('taking values out of what comes back', () => {
  it.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['taken for single bytes', Buffer.from(SECRET).toString('latin1')],
  ])('%s', (_, text) => {
    expect(redactionOf(SECRET).text(`<${text}>`)).toBe(`<${REDACTED}>`)
  })

  it.each([
    ['in the query of a URL', (value: string) => new URL(`http://x.test/?${value}`).search.slice(1)],
    ['in the path of a URL', (value: string) => new URL(`http://x.test/${value}`).pathname.slice(1)],
    ['in a form', (value: string) => new URLSearchParams({ k: value }).toString().slice(2)],
    ['in a URL of small letters', (value: string) => encodeURIComponent(value).replaceAll(/%../g, (escape) => escape.toLowerCase())],
    ['in JSON with its slashes escaped', (value: string) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/')],
    ['in JSON of plain ASCII', (value: string) => JSON.stringify(value).slice(1, -1).replaceAll('ö', '\\u00f6').replaceAll('é', '\\u00e9')],
    ['in JSON for pages', (value: string) => JSON.stringify(value).slice(1, -1)
      .replaceAll(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)],
    ['in a page', (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;').replaceAll("'", '&#39;')],
    ['in the name of a host', (value: string) => value.toLowerCase()],
  ])('%s', (_, written) => {
    for (const secret of [SECRET, MARKUP, 'Plain-Token_0123456789', 'dG9rZW4/with+all==']) {
      expect(redactionOf(secret).text(`[${written(secret)}]`), secret).toBe(`[${REDACTED}]`)
    }
  })

  it('as a header carried it', () => {
    const bytes = Buffer.from(`<${SECRET}>`, 'latin1')
    const stream = redactionOf(SECRET).stream()
    const pieces = Array.from(bytes, (_, index) => stream.push(bytes.subarray(index, index + 1)))
    expect(Buffer.concat([...pieces, stream.end()]).toString()).toBe(`<${REDACTED}>`)
  })

  it('of several, and leaves everything else', () => {
    const redaction = redactionOf('first secret', 'second secret')
    expect(redaction.text('first secret, third secret, second secret')).toBe(`${REDACTED}, third secret, ${REDACTED}`)
    expect(redaction.text('grüße 漢字 first secre')).toBe('grüße 漢字 first secre')
    expect(redactionOf().text('anything')).toBe('anything')
  })

  it('not in other encodings', () => {
    const encoded = Buffer.from(SECRET).toString('base64')
    expect(redactionOf(SECRET).text(encoded)).toBe(encoded)
  })
})
