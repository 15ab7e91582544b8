const MAX_CHARS = 300

/** What another program said, short, on one line, and without characters that act on a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim().slice(0, MAX_CHARS)
}
