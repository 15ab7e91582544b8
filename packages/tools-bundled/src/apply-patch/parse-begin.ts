import { headerAt, refused, refusedAt, type FilePatch, type Hunk, type HunkLine } from './patch.ts'

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const END_OF_FILE = '*** End of File'
const SECTION = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const UNIFIED = /^(?:diff --git |--- \S)/
const MOVE = /^\*\*\* Move to: (.+)$/

/** Where a patch of this form begins. -1 if there is none, or a unified diff comes first. */
function beginOf(lines: readonly string[]): number {
  const first = lines.findIndex((line) => line.trim() === BEGIN || UNIFIED.test(line))
  return first >= 0 && lines[first]!.trim() === BEGIN ? first : -1
}

export const isBeginPatch = (lines: readonly string[]): boolean => beginOf(lines) >= 0

/** Files of a patch between `*** Begin Patch` and `*** End Patch`. Text around it is ignored. Throws InputInvalid. */
export function parseBegin(lines: readonly string[]): readonly FilePatch[] {
  const first = beginOf(lines) + 1
  const end = lines.findIndex((line, index) => index >= first && line.trimEnd() === END)
  if (end < 0) throw refused(`The patch has no "${END}". Send the complete patch.`)
  if (lines.slice(end + 1).some((line) => line.startsWith('*** ') || UNIFIED.test(line))) {
    throw refused(`Another patch comes after "${END}". Send one patch for all files.`)
  }
  const files: FilePatch[] = []
  for (let at = first; at < end;) {
    const [, verb, path] = SECTION.exec(headerAt(lines, at).trimEnd()) ?? []
    if (verb === undefined || path === undefined) {
      if (headerAt(lines, at).trim() !== '') {
        throw refusedAt(at + 1, '"*** Add File: ", "*** Update File: " or "*** Delete File: " is expected here')
      }
      at++
      continue
    }
    let next = at + 1
    while (next < end && !SECTION.test(headerAt(lines, next).trimEnd())) next++
    files.push(section(verb, path.trim(), lines.slice(at + 1, next), at + 2))
    at = next
  }
  return files
}

/** `line` is the number of the first line in the patch, for messages. */
function section(verb: string, path: string, body: readonly string[], line: number): FilePatch {
  if (verb === 'Delete') {
    const rest = body.findIndex((text) => text.trim() !== '')
    if (rest >= 0) throw refusedAt(line + rest, 'nothing may follow "*** Delete File"')
    return { from: path, to: null, hunks: [], deletesAny: true }
  }
  if (verb === 'Add') {
    const lines = withoutBlankEnd(body).map((text, index): HunkLine => {
      if (text.startsWith('+')) return { sign: '+', text: `${text.slice(1)}\n` }
      throw refusedAt(line + index, 'each line of a new file begins with "+"')
    })
    return { from: null, to: path, hunks: lines.length === 0 ? [] : [{ at: 0, lines }] }
  }
  const to = MOVE.exec(headerAt(body, 0).trimEnd())?.[1]?.trim()
  const hunks = to === undefined ? hunksIn(body, line) : hunksIn(body.slice(1), line + 1)
  if (hunks.length === 0 && to === undefined) throw refusedAt(line, `"${path}" has no changes`)
  return { from: path, to: to ?? path, hunks }
}

/** Blank lines before the next section are not part of this one. */
function withoutBlankEnd(body: readonly string[]): readonly string[] {
  const last = body.findLastIndex((text) => text.trim() !== '' || text.startsWith(' '))
  return body.slice(0, last + 1)
}

function hunksIn(written: readonly string[], line: number): readonly Hunk[] {
  const body = withoutBlankEnd(written)
  const hunks: Hunk[] = []
  for (let at = 0; at < body.length;) {
    const anchors: string[] = []
    let stated: number | undefined
    for (; at < body.length && body[at]!.startsWith('@@'); at++) {
      const header = headerAt(body, at)
      const numbers = /^@@ -(\d+)/.exec(header)
      if (numbers !== null) stated = Math.max(0, Number(numbers[1]) - 1)
      else if (header.slice(2).trim() !== '') anchors.push(header.slice(2).trim())
    }
    const lines: HunkLine[] = []
    for (; at < body.length && !body[at]!.startsWith('@@') && !body[at]!.startsWith('*** '); at++) {
      lines.push(hunkLine(body[at]!, line + at))
    }
    const isAtEnd = at < body.length && headerAt(body, at).trimEnd() === END_OF_FILE
    if (isAtEnd) at++
    else if (body[at]?.startsWith('*** ') === true) throw refusedAt(line + at, 'this is not expected here')
    if (lines.length === 0) throw refusedAt(line + at, 'a hunk without lines ends here')
    hunks.push({ at: stated, anchors, lines, isAtEnd })
  }
  return hunks
}

function hunkLine(text: string, line: number): HunkLine {
  // Some editors remove the space of an empty line.
  if (text === '' || text === '\r') return { sign: ' ', text: `${text}\n` }
  const sign = text[0]
  if (sign === ' ' || sign === '-' || sign === '+') return { sign, text: `${text.slice(1)}\n` }
  throw refusedAt(line, 'each line of a hunk begins with " ", "-" or "+"')
}
