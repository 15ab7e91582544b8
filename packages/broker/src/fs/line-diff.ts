import { isUtf8 } from 'node:buffer'
import type { StructuredPatchHunk } from 'diff'
import { structuredPatch } from 'diff/lib/patch/create.js'

const AROUND = 3
/** Longer lines are cut. */
const LINE_CHARS = 1_000
/** A longer diff ends before the hunk that does not fit. */
const DIFF_CHARS = 64 * 1024
/** Of an edit. There is rarely room for more. */
const MOST_CHANGES = 250
/** Both files may be hostile. What takes longer to compare is shown as one change. */
const COMPARED_CHARS = 1024 * 1024
const COMPARISON = { context: AROUND, maxEditLength: 500, timeout: 500 }
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
  const { hunks, isAll } = hunksOf(old, fresh)
  return header + hunks + (isAll ? '' : '[The rest of the diff is not shown.]\n')
}

/** The diff of an edit. Contract: the changes are in order and do not overlap. */
export function editDiff(path: string, content: Buffer, changes: readonly Change[]): string {
  const { count, end } = shownChanges(content, changes)
  const old = content.subarray(0, end)
  const { hunks, isAll } = hunksOf(old, withChanges(old, changes.slice(0, count)))
  const rest = '[The rest of the diff is not shown. All replacements were made.]\n'
  return `--- a/${path}\n+++ b/${path}\n${hunks}${isAll && count === changes.length ? '' : rest}`
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

/** The first changes, and the start of the line of the next one. */
function shownChanges(content: Buffer, changes: readonly Change[]): { readonly count: number; readonly end: number } {
  let newline = -1
  for (let count = MOST_CHANGES; count < changes.length; count++) {
    const { at, before } = changes[count - 1]!
    if (newline < at + before.length) newline = content.indexOf(LF, at + before.length)
    if (newline < 0) break
    const next = changes[count]!.at
    if (newline < next) return { count, end: content.lastIndexOf(LF, next - 1) + 1 }
  }
  return { count: changes.length, end: content.length }
}

/** As many hunks as there is room for. */
function hunksOf(old: Buffer, fresh: Buffer): { readonly hunks: string; readonly isAll: boolean } {
  const { from, to, skipped } = differing(old, fresh)
  const compared = from.length + to.length > COMPARED_CHARS
    ? undefined : structuredPatch('', '', from, to, '', '', COMPARISON)
  let hunks = ''
  for (const hunk of compared?.hunks ?? [replacement(from, to)]) {
    // A line has a sign and a line end at least.
    if (hunk.lines.length * 2 > DIFF_CHARS) return { hunks, isAll: false }
    const { oldStart, oldLines, newStart, newLines } = hunk
    const ranges = `-${range(oldStart + skipped, oldLines)} +${range(newStart + skipped, newLines)}`
    const text = `@@ ${ranges} @@\n${hunk.lines.map(cut).join('')}`
    if (hunks.length + text.length > DIFF_CHARS) return { hunks, isAll: false }
    hunks += text
  }
  return { hunks, isAll: true }
}

/** An empty range names the line before it. */
const range = (start: number, count: number): string =>
  count === 0 ? `${start - 1},0` : count === 1 ? `${start}` : `${start},${count}`

const cut = (line: string): string =>
  line.length > LINE_CHARS + 1 ? `${line.slice(0, LINE_CHARS + 1).toWellFormed()}…\n` : `${line}\n`

/** The lines that differ, with equal ones around them, and the number of lines before. */
function differing(old: Buffer, fresh: Buffer) {
  const most = Math.min(old.length, fresh.length)
  let head = 0
  while (head < most && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++
  let start = head === 0 ? 0 : old.lastIndexOf(LF, head - 1) + 1
  for (let lines = 0; lines < AROUND && start > 0; lines++) start = start < 2 ? 0 : old.lastIndexOf(LF, start - 2) + 1
  let end = old.length - tail
  for (let lines = 0; lines <= AROUND && end < old.length; lines++) end = (old.indexOf(LF, end) + 1) || old.length
  let skipped = 0
  for (let at = 0; at < start; at++) if (old[at] === LF) skipped++
  const [from, to] = [old.toString('utf8', start, end), fresh.toString('utf8', start, fresh.length - old.length + end)]
  return { from, to, skipped }
}

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
