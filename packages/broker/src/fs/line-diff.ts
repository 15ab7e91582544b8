import { isUtf8 } from 'node:buffer'
import type { StructuredPatchHunk } from 'diff'
import { structuredPatch } from 'diff/lib/patch/create.js'

const AROUND = 3
/** Longer lines are cut. */
const LINE_CHARS = 1_000
/** A longer diff ends before the hunk that does not fit. */
const DIFF_CHARS = 64 * 1024
/** Both files may be hostile. What takes longer to compare is shown as one change. */
const COMPARED_CHARS = 1024 * 1024
const MOST_EDITS = 500
const COMPARISON_MS = 2_000
/** Longer files are not split into lines. */
const MAX_BYTES = 16 * 1024 * 1024
const LF = 10

/** A replacement in the old content. */
export interface Change {
  readonly at: number
  readonly before: Buffer
  readonly after: Buffer
}

/** A unified diff of two versions of a file, bounded in size and time. Empty if they are equal. undefined: no file. */
export function lineDiff(path: string, before: Buffer | undefined, after: Buffer | undefined): string {
  const [old, fresh] = [before ?? EMPTY, after ?? EMPTY]
  if (old.equals(fresh)) return ''
  if (!isText(old) || !isText(fresh)) {
    return `Binary file ${path}: ${sizeOf(before)} before, ${sizeOf(after)} after\n`
  }
  if (old.length + fresh.length > MAX_BYTES) {
    return `Long file ${path}: ${sizeOf(before)} before, ${sizeOf(after)} after\n`
  }
  const header = `--- ${before ? `a/${path}` : '/dev/null'}\n+++ ${after ? `b/${path}` : '/dev/null'}\n`
  return header + hunksOf([differing(old, fresh)], '[The rest of the diff is not shown.]\n')
}

/** The diff of an edit. Contract: the changes are in order and do not overlap. */
export function editDiff(path: string, content: Buffer, changes: readonly Change[]): string {
  const rest = '[The rest of the diff is not shown. All replacements were made.]\n'
  return `--- a/${path}\n+++ b/${path}\n${hunksOf(windows(content, changes), rest)}`
}

/** The content after the changes. */
export function withChanges(content: Buffer, changes: readonly Change[]): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const { at, before, after } of changes) {
    pieces.push(content.subarray(from, at), after)
    from = at + before.length
  }
  return Buffer.concat([...pieces, content.subarray(from)])
}

const EMPTY = Buffer.alloc(0)
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)
const sizeOf = (bytes: Buffer | undefined): string => bytes ? `${bytes.length} bytes` : 'absent'

/** Lines to compare, and how many come before them. */
interface Window {
  readonly from: Buffer
  readonly to: Buffer
  readonly oldLine: number
  readonly newLine: number
}

/** The lines around each change; changes whose lines meet share them. */
function* windows(content: Buffer, changes: readonly Change[]): Iterable<Window> {
  let [counted, line, shift] = [0, 0, 0]
  for (let first = 0, next = 0; first < changes.length; first = next) {
    const start = above(content, changes[first]!.at)
    let [lineEnd, end] = [-1, 0]
    do {
      const { at, before } = changes[next++]!
      if (at + before.length <= lineEnd) continue
      lineEnd = newlineAfter(content, at + before.length)
      end = below(content, lineEnd)
    } while (next < changes.length && (changes[next]!.at < end || above(content, changes[next]!.at) <= end))
    const inside = changes.slice(first, next).map((change) => ({ ...change, at: change.at - start }))
    const from = content.subarray(start, end)
    const to = withChanges(from, inside)
    line += newlines(content.subarray(counted, start))
    counted = start
    yield { from, to, oldLine: line, newLine: line + shift }
    shift += newlines(to) - newlines(from)
  }
}

/** The lines in which two versions differ, with equal ones around them. */
function differing(old: Buffer, fresh: Buffer): Window {
  const most = Math.min(old.length, fresh.length)
  let head = 0
  while (head < most && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++
  const [start, end] = [above(old, head), below(old, newlineAfter(old, old.length - tail))]
  const line = newlines(old.subarray(0, start))
  const to = fresh.subarray(start, fresh.length - old.length + end)
  return { from: old.subarray(start, end), to, oldLine: line, newLine: line }
}

/** The start of the line, and of some before it. */
function above(content: Buffer, at: number): number {
  let start = at
  for (let lines = 0; lines <= AROUND && start > 0; lines++) {
    start = start < 2 ? 0 : content.lastIndexOf(LF, start - (lines === 0 ? 1 : 2)) + 1
  }
  return start
}

const newlineAfter = (content: Buffer, at: number): number => {
  const newline = content.indexOf(LF, at)
  return newline < 0 ? content.length : newline
}

/** The end of some lines after a line end. */
function below(content: Buffer, newline: number): number {
  let end = newline
  for (let lines = 0; lines < AROUND && end < content.length; lines++) end = newlineAfter(content, end + 1)
  return Math.min(end + 1, content.length)
}

function newlines(bytes: Buffer): number {
  let count = 0
  // An iterator takes ten times as long.
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LF) count++
  return count
}

/** As many hunks as there is room for. `rest`: the note in place of the others. */
function hunksOf(compared: Iterable<Window>, rest: string): string {
  const until = Date.now() + COMPARISON_MS
  let hunks = ''
  for (const { from, to, oldLine, newLine } of compared) {
    for (const hunk of compare(from.toString(), to.toString(), until)) {
      // A line has a sign and a line end at least.
      if (hunk.lines.length * 2 > DIFF_CHARS) return hunks + rest
      const { oldStart, oldLines, newStart, newLines, lines } = hunk
      const ranges = `-${range(oldLine + oldStart, oldLines)} +${range(newLine + newStart, newLines)}`
      const text = `@@ ${ranges} @@\n${lines.map(cut).join('')}`
      if (hunks.length + text.length > DIFF_CHARS) return hunks + rest
      hunks += text
    }
  }
  return hunks
}

function compare(from: string, to: string, until: number): readonly StructuredPatchHunk[] {
  const limits = { context: AROUND, maxEditLength: MOST_EDITS, timeout: until - Date.now() }
  const compared = from.length + to.length > COMPARED_CHARS
    ? undefined : structuredPatch('', '', from, to, '', '', limits)
  return compared?.hunks ?? [replacement(from, to)]
}

/** An empty range names the line before it. */
const range = (start: number, count: number): string =>
  count === 0 ? `${start - 1},0` : count === 1 ? `${start}` : `${start},${count}`

const cut = (line: string): string =>
  line.length > LINE_CHARS + 1 ? `${line.slice(0, LINE_CHARS + 1).toWellFormed()}…\n` : `${line}\n`

/** All lines are replaced. */
function replacement(from: string, to: string): StructuredPatchHunk {
  const [removed, added] = [linesOf(from), linesOf(to)]
  const signed = (sign: string, lines: readonly string[], text: string): readonly string[] => [
    ...lines.map((line) => sign + line),
    ...(text === '' || text.endsWith('\n') ? [] : ['\\ No newline at end of file']),
  ]
  return {
    oldStart: 1, oldLines: removed.length, newStart: 1, newLines: added.length,
    lines: [...signed('-', removed, from), ...signed('+', added, to)],
  }
}

/** Without line ends, and no more than a diff has room for. */
const linesOf = (text: string): readonly string[] =>
  text === '' ? [] : (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n', DIFF_CHARS)
