/**
 * Control, format, bidirectional, private-use and unassigned characters, lone surrogates, letters and marks without a form, and
 * selectors of a form for what has only one: what can repaint or hide text. So can marks that stand on nothing of their own text,
 * or in a heap, which paint over what stands around it.
 */
const INVISIBLE = new RegExp([
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}]/u,
  /[\ufe00-\ufe0f](?<!\p{Extended_Pictographic}.)(?<![\d#*]\ufe0f(?=\u20e3))/u,
  /\p{M}(?<=(?:^|[\s\p{P}\p{Cc}])\p{M})/u,
  /\p{M}(?<=\p{M}{5})/u,
].map(({ source }) => source).join('|'), 'gu')

/**
 * A stranger's text as a person may be shown it: what cannot be seen is written out as \u{…}, nothing is cut.
 * `keepLines` leaves line feeds and tabs as they are.
 */
export function visibleText(text: string, options: { readonly keepLines?: boolean } = {}): string {
  return text.replace(INVISIBLE, (char) =>
    options.keepLines && (char === '\n' || char === '\t') ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`)
}

/** The same for a text of JSON, which then says what it said before: escapes are part of it. */
export const visibleJson = (json: string): string =>
  json.replace(INVISIBLE, (char) => char === '\n' ? char : Array.from({ length: char.length }, (_, at) =>
    `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''))
