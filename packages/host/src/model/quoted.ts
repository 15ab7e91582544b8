/** Longer ones are not worth looking through. */
const SHORT_CHARS = 128

/** A text as JSON. The ids and keys of every call need no escapes, and to find that out costs less than to ask for them. */
export function quoted(text: string): string {
  if (text.length > SHORT_CHARS) return JSON.stringify(text)
  for (let index = 0; index < text.length; index++) {
    const char = text.charCodeAt(index)
    if (char < 0x20 || char > 0x7e || char === 0x22 || char === 0x5c) return JSON.stringify(text)
  }
  return `"${text}"`
}
