/**
 * Control, format, bidirectional, private-use and unassigned characters, lone surrogates, and letters and marks without a form:
 * what can repaint or hide text.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}]/gu

/**
 * A stranger's text as a person may be shown it: what cannot be seen is written out as \u{…}, nothing is cut.
 * `keepLines` leaves line feeds and tabs as they are.
 */
export function visibleText(text: string, options: { readonly keepLines?: boolean } = {}): string {
  return text.replace(INVISIBLE, (char) =>
    options.keepLines && (char === '\n' || char === '\t') ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`)
}
