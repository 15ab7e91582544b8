export interface LineRange {
  /** 1-based. */
  readonly from: number
  /** Lines wanted at most. */
  readonly limit: number
  /** Bytes of text wanted at most. */
  readonly maxBytes: number
}
export interface Lines {
  readonly text: string
  readonly from: number
  /** The last line in `text`, whole or cut; `from - 1` when there is none. */
  readonly to: number
  readonly total: number
  /** Whether `maxBytes` cut what was asked for. */
  readonly cut: boolean
}

const NEWLINE = 0x0a

/**
 * Collects a range of lines from chunks and counts all of them, holding no more than what it returns. Line ends are
 * kept as they are; the text is cut between characters, never inside one.
 */
export async function collectLines(chunks: AsyncIterable<Uint8Array>, range: LineRange): Promise<Lines> {
  const last = range.from + range.limit - 1
  const kept: Uint8Array[] = []
  let bytes = 0
  let line = 1
  let to = range.from - 1
  let open = false
  let cut = false
  for await (const chunk of chunks) {
    let start = 0
    while (start < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, start)
      const end = newline < 0 ? chunk.length : newline + 1
      if (line >= range.from && line <= last && !cut) {
        const part = chunk.subarray(start, Math.min(end, start + range.maxBytes - bytes))
        if (part.length > 0) {
          kept.push(part)
          bytes += part.length
          to = line
        }
        cut = part.length < end - start
      }
      open = newline < 0
      if (newline >= 0) line++
      start = end
    }
  }
  return { text: decode(kept, bytes, cut), from: range.from, to, total: open ? line : line - 1, cut }
}

/** The same of a text that is all there. */
export function linesOfText(text: string, { from, limit, maxBytes }: LineRange): Lines {
  let [line, start, end, to] = [1, from === 1 ? 0 : text.length, text.length, from - 1]
  for (let newline = text.indexOf('\n'); newline >= 0; newline = text.indexOf('\n', newline + 1)) {
    if (line >= from && line < from + limit) to = line
    line++
    if (line === from) start = newline + 1
    if (line === from + limit) end = newline + 1
  }
  const total = text === '' || text.endsWith('\n') ? line - 1 : line
  if (total === line && line >= from && line < from + limit) to = line
  const wanted = text.slice(start, end)
  if (wanted.length * 3 <= maxBytes || Buffer.byteLength(wanted) <= maxBytes) return { text: wanted, from, to, total, cut: false }
  const { read } = encoder.encodeInto(wanted, new Uint8Array(maxBytes))
  const head = wanted.slice(0, read)
  return { text: head, from, to: from + head.split('\n').length - (head.endsWith('\n') ? 2 : 1), total, cut: true }
}

const encoder = new TextEncoder()

/** A cut may fall inside a character: then its first bytes are left out. */
function decode(parts: readonly Uint8Array[], length: number, cut: boolean): string {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole, { stream: cut })
}
