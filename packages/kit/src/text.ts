/** Longer names are not compared: they are not typing errors. */
const LONGEST = 64
const SUGGESTIONS = 3

/** Names that the caller may have meant, nearest first. */
export function closeNames(wanted: string, names: Iterable<string>): readonly string[] {
  if (wanted.length > LONGEST) return []
  const lower = wanted.toLowerCase()
  const allowed = Math.max(1, Math.floor(wanted.length / 3))
  const contains = (name: string) => lower.length >= 3 && name.toLowerCase().includes(lower)
  const close = [...names]
    .filter((name) => Math.abs(name.length - wanted.length) <= allowed || contains(name))
    .map((name) => ({ name, distance: distance(lower, name.toLowerCase()) }))
    .filter(({ name, distance: steps }) => steps <= allowed || contains(name))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  // Much more distant names would only distract.
  return close.filter(({ name, distance: steps }) => steps <= close[0]!.distance + 1 || contains(name))
    .slice(0, SUGGESTIONS)
    .map(({ name }) => name)
}

/** The same as a question after a sentence; empty if no name is close. */
export function meantNames(wanted: string, names: Iterable<string>): string {
  const close = closeNames(wanted, names)
  return close.length === 0 ? '' : ` Did you mean ${close.map((name) => `"${name}"`).join(' or ')}?`
}

/** Levenshtein distance in which swapping two letters is one step. */
function distance(from: string, to: string): number {
  let before: readonly number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next.push(Math.min(
        row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1),
        isSwapped ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY))
    }
    before = row
    row = next
  }
  return row[to.length]!
}

/**
 * Characters that can hide or overpaint text: control, format, bidirectional, private-use and unassigned characters,
 * lone surrogates, invisible letters and marks, and variation selectors without effect. Also marks without a base
 * character, and stacks of marks.
 */
const INVISIBLE = new RegExp([
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]/u,
  /[\u{e0100}-\u{e01ef}]/u,
  /[\ufe00-\ufe0f](?<!\p{Extended_Pictographic}.)(?<![\d#*]\ufe0f(?=\u20e3))/u,
  /\p{M}(?<=(?:^|[\s\p{P}\p{Cc}])\p{M})/u,
  /\p{M}(?<=\p{M}{5})/u,
].map(({ source }) => source).join('|'), 'gu')

/** Makes untrusted text safe to display: invisible characters become \u{…}. `keepLines` keeps line feeds and tabs. */
export function visibleText(text: string, options: { readonly keepLines?: boolean } = {}): string {
  return text.replace(INVISIBLE, (char) =>
    options.keepLines && (char === '\n' || char === '\t') ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`)
}

/** The same for JSON text, with JSON escapes, so that its value does not change. */
export const visibleJson = (json: string): string =>
  json.replace(INVISIBLE, (char) => char === '\n' ? char : Array.from({ length: char.length }, (_, at) =>
    `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''))

const SEVERAL_SENTENCES = /[.!?] \p{Lu}/u
/** Whether a message has several sentences and so already says what to do. */
export const givesAdvice = (message: string): boolean => SEVERAL_SENTENCES.test(message)

/** A secret as it is, and as it is written into JSON, an address or a header. */
export function writtenForms(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret)
  const base64 = (alphabet: 'base64' | 'base64url') => bytes.toBase64({ alphabet, omitPadding: true })
  const inAddress = encodeURIComponent(secret.toWellFormed())
  return [secret, JSON.stringify(secret).slice(1, -1), inAddress, base64('base64'), base64('base64url')]
}

const SECRET_NAME = /pass(?:word|phrase|code)|secret|token|api[-_]?key|private[-_]?key|authorization|cookie|credential/i

/** Whether a member or variable with this name holds a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name)

/** A shorter secret would remove parts of ordinary text. */
export const MIN_SECRET_CHARS = 6

/** Stands for what a text lost between its beginning and its end. */
export const LEFT_OUT = '\n[… the middle is left out …]\n'

/** At most so many bytes of UTF-8, without cutting a character: the beginning, and where there is room the end. */
export function headAndTail(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= maxBytes) return text
  const room = maxBytes - new TextEncoder().encode(LEFT_OUT).length
  if (room < LEFT_OUT.length) return decoded(bytes.subarray(0, Math.max(0, maxBytes)))
  const half = Math.ceil(room / 2)
  return decoded(bytes.subarray(0, half)) + LEFT_OUT + decoded(bytes.subarray(bytes.length - (room - half)))
}

/** Without the incomplete characters at both ends of a part of a text. */
export function decoded(part: Uint8Array): string {
  let from = 0
  while (from < Math.min(3, part.length) && (part[from]! & 0xc0) === 0x80) from++
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(part.subarray(from), { stream: true })
}
