/** Characters that encoders escape in a query, a path, a component (encodeURIComponent), RFC 3986, a form. */
const IN_URLS: readonly RegExp[] = [
  /[\0-\x20"#'<>\x7f-\u{10ffff}]/gu,
  /[\0-\x20"#<>?^`{}\x7f-\u{10ffff}]/gu,
  /[^A-Za-z0-9\-_.!~*'()]/gu,
  /[^A-Za-z0-9\-_.~]/gu,
  /[^A-Za-z0-9\-_.*]/gu,
]
/** Characters that encoders write as \u in JSON: none, non-ASCII, HTML-sensitive ones. */
const IN_JSON: readonly RegExp[] = [/(?!)/g, /[\x7f-\uffff]/g, /[<>&\u2028\u2029]/g, /[<>&='\u2028\u2029]/g]
const HTML: ReadonlyMap<string, string> = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['"', '&quot;']])

/**
 * The usual encodings in which a server or command echoes a value: as is, as misread bytes, in a URL, in JSON, in HTML, or
 * as a host name. Most values have only one or two different ones.
 */
export function encodedForms(value: string): readonly Buffer[] {
  const texts = [value, value.toLowerCase(), ...inUrls(value), ...inJson(value), ...inPages(value)]
  const bytes = Buffer.from(value)
  const forms = [
    ...[...new Set(texts)].map((text) => Buffer.from(text)),
    // As a header carries it, and UTF-8 read as Latin-1.
    ...(/^[\0-\xff]*$/.test(value) ? [Buffer.from(value, 'latin1')] : []),
    Buffer.from(bytes.toString('latin1')),
  ]
  return forms.filter((form, index) => forms.findIndex((other) => other.equals(form)) === index)
}

function inUrls(value: string): readonly string[] {
  const escaped = IN_URLS.flatMap((characters) => {
    const upper = value.replaceAll(characters, percentEncoded)
    return [upper, upper.replaceAll('%20', '+')]
  })
  return [...escaped, ...escaped.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()))]
}

const percentEncoded = (character: string): string =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')

function inJson(value: string): readonly string[] {
  const plain = JSON.stringify(value).slice(1, -1)
  const escaped = IN_JSON.map((characters) =>
    plain.replaceAll(characters, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
  return [...escaped, ...escaped.map((text) => text.replaceAll('/', '\\/'))]
}

function inPages(value: string): readonly string[] {
  const escaped = value.replaceAll(/[&<>"]/g, (character) => HTML.get(character)!)
  return ["'", '&#39;', '&#039;', '&#x27;', '&apos;'].map((quote) => escaped.replaceAll("'", quote))
}
