/** What is escaped in a URL, by its place and by who writes it: a query, a path, a component, a name, a form. */
const IN_URLS: readonly RegExp[] = [
  /[\0-\x20"#'<>\x7f-\u{10ffff}]/gu,
  /[\0-\x20"#<>?^`{}\x7f-\u{10ffff}]/gu,
  /[^A-Za-z0-9\-_.!~*'()]/gu,
  /[^A-Za-z0-9\-_.~]/gu,
  /[^A-Za-z0-9\-_.*]/gu,
]
/** Written as \u in JSON beside what must be: nothing, what is not ASCII, what could be taken for HTML. */
const IN_JSON: readonly RegExp[] = [/(?!)/g, /[\x7f-\uffff]/g, /[<>&\u2028\u2029]/g, /[<>&='\u2028\u2029]/g]
const HTML: ReadonlyMap<string, string> = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['"', '&quot;']])

/**
 * How a text may come back that nobody meant to hide: as it is, as a server read its bytes, in a URL, in JSON, in a page, or as
 * the name of a host. Of most texts these are one or two.
 */
export function writtenForms(value: string): readonly Buffer[] {
  const texts = [value, value.toLowerCase(), ...inUrls(value), ...inJson(value), ...inPages(value)]
  const bytes = Buffer.from(value)
  const forms = [
    ...[...new Set(texts)].map((text) => Buffer.from(text)),
    // As a header carries it, and as a text is taken for one of single bytes.
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
