import { isUtf8 } from 'node:buffer'
import { diff as compareLines } from 'node:util'
import { unifiedDiff, type Change } from './unified-diff.ts'

const REST = '[The rest of the diff is not shown.]\n'
/** The comparison takes memory in proportion to the square of the lines. More lines are shown as one change. */
const MOST_COMPARED = 1_000
/** Longer files are not split into lines. */
const MAX_BYTES = 16 * 1024 * 1024

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
  return unifiedDiff(path, old, changesOf(old, fresh), header, REST)
}

const EMPTY = Buffer.alloc(0)
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)
const sizeOf = (bytes: Buffer | undefined): string => bytes ? `${bytes.length} bytes` : 'absent'

/** Replacements of whole lines, in order. */
function changesOf(old: Buffer, fresh: Buffer): readonly Change[] {
  const [from, to] = [linesOf(old), linesOf(fresh)]
  const most = Math.min(from.length, to.length)
  let head = 0
  while (head < most && from[head] === to[head]) head++
  let tail = 0
  while (tail < most - head && from.at(-1 - tail) === to.at(-1 - tail)) tail++
  const [left, right] = [from.slice(head, from.length - tail), to.slice(head, to.length - tail)]
  const blocks = left.length + right.length > MOST_COMPARED ? [{ skipped: 0, left, right }] : blocksOf(left, right)
  const changes: Change[] = []
  let at = bytesOf(from.slice(0, head))
  for (const { skipped, left: removed, right: added } of blocks) {
    at += skipped
    const gone = Buffer.from(removed.join(''))
    changes.push(anchored(old, at, gone, Buffer.from(added.join(''))))
    at += gone.length
  }
  return changes
}

interface Block {
  /** Bytes of common lines before it. */
  readonly skipped: number
  readonly left: string[]
  readonly right: string[]
}

function blocksOf(left: readonly string[], right: readonly string[]): readonly Block[] {
  const blocks: Block[] = []
  let skipped = 0
  let open: Block | undefined
  for (const [operation, line] of compareLines(left, right)) {
    if (operation === 0) {
      skipped += Buffer.byteLength(line)
      open = undefined
      continue
    }
    if (open === undefined) {
      open = { skipped, left: [], right: [] }
      blocks.push(open)
      skipped = 0
    }
    // 1: only in the first list, -1: only in the second.
    const side = operation === 1 ? open.left : open.right
    side.push(line)
  }
  return blocks
}

/** A change at the very beginning that removes nothing includes the line that follows. */
function anchored(old: Buffer, at: number, before: Buffer, after: Buffer): Change {
  if (at > 0 || before.length > 0) return { at, before, after }
  const next = Buffer.from(linesOf(old)[0] ?? '')
  return { at, before: next, after: Buffer.concat([after, next]) }
}

const linesOf = (bytes: Buffer): readonly string[] => bytes.toString('utf8').match(/[^\n]*\n|[^\n]+$/g) ?? []
const bytesOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
