const AROUND = 3
/** Longer lines are cut. */
const LINE_CHARS = 1_000
/** A longer diff ends before the hunk that does not fit. */
const DIFF_CHARS = 64 * 1024
const REST = '[The rest of the diff is not shown. All replacements were made.]\n'
const LF = 10

/** A replacement in the old content. */
export interface Change {
  readonly at: number
  readonly before: Buffer
  readonly after: Buffer
}

/** Changed lines. `at` and `end` are byte offsets, `line` counts from 1. */
interface Block {
  readonly at: number
  end: number
  readonly line: number
  readonly changes: Change[]
}

/** The header of a diff. */
const changedFile = (path: string): string => `--- a/${path}\n+++ b/${path}\n`

/** A unified diff, built from the known replacements in linear time. `rest`: the note in place of what does not fit. */
export function unifiedDiff(
  path: string, content: Buffer, changes: readonly Change[], header = changedFile(path), rest = REST,
): string {
  let diff = header
  let shift = 0
  const { blocks, isAll } = blocksOf(content, changes)
  for (const group of hunks(content, blocks)) {
    if (fewestChars(content, group) > DIFF_CHARS) return diff + rest
    const hunk = writeHunk(content, group, shift)
    if (diff.length + hunk.text.length > DIFF_CHARS) return diff + rest
    diff += hunk.text
    shift += hunk.added
  }
  return isAll ? diff : diff + rest
}

/** As many blocks as can be shown. */
function blocksOf(
  content: Buffer, changes: readonly Change[],
): { readonly blocks: readonly Block[]; readonly isAll: boolean } {
  const blocks: Block[] = []
  let line = 1
  let counted = 0
  for (const change of changes) {
    const after = change.at + change.before.length
    const last = blocks.at(-1)
    if (last !== undefined && change.at < last.end) {
      last.changes.push(change)
      if (after > last.end) last.end = lineEnd(content, after - 1)
      continue
    }
    const at = change.at === 0 ? 0 : content.lastIndexOf(LF, change.at - 1) + 1
    line += newlinesBetween(content, counted, at)
    counted = at
    blocks.push({ at, end: lineEnd(content, after - 1), line, changes: [change] })
    if (blocks.length * 8 > DIFF_CHARS) return { blocks, isAll: false }
  }
  return { blocks, isAll: true }
}

function newlinesBetween(content: Buffer, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) if (content[at] === LF) count++
  return count
}

const lineEnd = (content: Buffer, from: number): number => {
  const newline = content.indexOf(LF, from)
  return newline < 0 ? content.length : newline + 1
}

/** Blocks with overlapping context form one hunk. */
function hunks(content: Buffer, blocks: readonly Block[]): readonly (readonly Block[])[] {
  const groups: Block[][] = []
  let below = -Infinity
  for (const block of blocks) {
    if (block.line - below <= 2 * AROUND) groups.at(-1)!.push(block)
    else groups.push([block])
    below = block.line + split(content.subarray(block.at, block.end)).length
  }
  return groups
}

/** A lower bound of the size of a hunk: a sign and a line end per line. */
function fewestChars(content: Buffer, blocks: readonly Block[]): number {
  let lines = 0
  for (const { at, end, changes } of blocks) {
    lines += newlinesBetween(content, at, end)
    for (const { after } of changes) lines += newlinesBetween(after, 0, after.length)
  }
  return 2 * lines
}

function writeHunk(
  content: Buffer, blocks: readonly Block[], shift: number,
): { readonly text: string; readonly added: number } {
  const [first, last] = [blocks[0]!, blocks.at(-1)!]
  const above = linesAbove(content, first.at)
  const lines = above.map((line) => shown(' ', line))
  let [removed, added] = [above.length, above.length]
  let from = first.at
  for (const block of blocks) {
    const between = split(content.subarray(from, block.at))
    const old = split(content.subarray(block.at, block.end))
    const fresh = split(changed(content, block))
    // No spread: there may be more lines than a call can take arguments.
    for (const line of [...between.map((same) => shown(' ', same)), ...compare(old, fresh)]) lines.push(line)
    removed += between.length + old.length
    added += between.length + fresh.length
    from = block.end
  }
  const below = linesBelow(content, last.end)
  lines.push(...below.map((line) => shown(' ', line)))
  removed += below.length
  added += below.length
  const start = first.line - above.length
  const range = (line: number, count: number): string =>
    `${count === 0 ? line - 1 : line}${count === 1 ? '' : `,${count}`}`
  const header = `@@ -${range(start, removed)} +${range(start + shift, added)} @@\n`
  return { text: header + lines.join(''), added: added - removed }
}

/** Common lines at the start and end are context. */
function compare(old: readonly string[], fresh: readonly string[]): readonly string[] {
  const most = Math.min(old.length, fresh.length)
  let head = 0
  while (head < most && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  return [
    ...old.slice(0, head).map((line) => shown(' ', line)),
    ...old.slice(head, old.length - tail).map((line) => shown('-', line)),
    ...fresh.slice(head, fresh.length - tail).map((line) => shown('+', line)),
    ...old.slice(old.length - tail).map((line) => shown(' ', line)),
  ]
}

function changed(content: Buffer, { at, end, changes }: Block): Buffer {
  const pieces: Buffer[] = []
  let from = at
  for (const change of changes) {
    pieces.push(content.subarray(from, change.at), change.after)
    from = change.at + change.before.length
  }
  return Buffer.concat([...pieces, content.subarray(from, Math.max(from, end))])
}

function linesAbove(content: Buffer, at: number): readonly string[] {
  let from = at
  for (let lines = 0; lines < AROUND && from > 0; lines++) from = from < 2 ? 0 : content.lastIndexOf(LF, from - 2) + 1
  return split(content.subarray(from, at))
}

function linesBelow(content: Buffer, at: number): readonly string[] {
  let to = at
  for (let lines = 0; lines < AROUND && to < content.length; lines++) to = lineEnd(content, to)
  return split(content.subarray(at, to))
}

/** Lines with their line ends. */
const split = (bytes: Buffer): readonly string[] => bytes.toString('utf8').match(/[^\n]*\n|[^\n]+$/g) ?? []

function shown(sign: ' ' | '-' | '+', line: string): string {
  const text = line.endsWith('\n') ? line.slice(0, -1) : line
  const head = text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS).toWellFormed()}…` : text
  return line.endsWith('\n') ? `${sign}${head}\n` : `${sign}${head}\n\\ No newline at end of file\n`
}
