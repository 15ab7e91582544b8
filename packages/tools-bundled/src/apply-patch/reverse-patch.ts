import { isUtf8 } from 'node:buffer'
import type { PlacedHunk } from './apply-hunks.ts'
import { lineEndOf } from './find-lines.ts'
import type { ResolvedFile } from './resolve-patch.ts'

/**
 * The patch that restores the old files, as git writes it. undefined if it would be too long, or if a file is not UTF-8
 * and so cannot be part of a string.
 */
export function reversePatch(
  files: readonly ResolvedFile[], wasExecutable: ReadonlyMap<string, boolean>, mostBytes: number,
): string | undefined {
  const pieces: Buffer[] = []
  let bytes = 0
  for (const file of files.toReversed()) {
    const piece = Buffer.from(reverseFile(file, wasExecutable), 'latin1')
    bytes += piece.length
    if (bytes > mostBytes || !isUtf8(piece)) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** In bytes, as characters of a string. */
function reverseFile(file: ResolvedFile, wasExecutable: ReadonlyMap<string, boolean>): string {
  const { from, to, executable, isCopy } = file
  // A copy is removed.
  const [now, then] = [to, isCopy === true ? null : from]
  const header = `diff --git ${quoted('a/', now ?? then!)} ${quoted('b/', then ?? now!)}\n`
  const was = wasExecutable.get(from ?? to!) === true
  const mode = (isExecutable: boolean): string => isExecutable ? '100755' : '100644'
  const moved = now !== null && then !== null && now !== then
  const fields = [
    ...(now === null ? [`new file mode ${mode(was)}`] : []),
    ...(then === null ? [`deleted file mode ${mode(executable ?? (isCopy === true && was))}`] : []),
    ...(now !== null && then !== null && executable !== undefined && executable !== was
      ? [`old mode ${mode(executable)}`, `new mode ${mode(was)}`] : []),
    ...(moved ? [`rename from ${quoted('', now)}`, `rename to ${quoted('', then)}`] : []),
  ].map((field) => `${field}\n`).join('')
  const hunks = now === null || then === null
    ? wholeFile(file, now === null) : file.placed.map((hunk) => reverseHunk(file, hunk)).join('')
  const nameOf = (prefix: string, path: string | null): string => path === null ? '/dev/null' : quoted(prefix, path)
  const names = `--- ${nameOf('a/', now)}\n+++ ${nameOf('b/', then)}\n`
  return header + fields + (hunks === '' ? '' : names + hunks)
}

function wholeFile({ old, fresh }: ResolvedFile, isRestored: boolean): string {
  const lines = isRestored ? old : fresh
  if (lines.length === 0) return ''
  const all = range(0, lines.length)
  const header = isRestored ? `@@ -0,0 +${all} @@\n` : `@@ -${all} +0,0 @@\n`
  return header + lines.map((line) => written(isRestored ? '+' : '-', line)).join('')
}

function reverseHunk({ old, fresh }: ResolvedFile, { at, newAt, lines }: PlacedHunk): string {
  let [oldLine, newLine] = [at, newAt]
  const reversed: string[] = []
  let [removed, added]: [string[], string[]] = [[], []]
  const flush = (): void => {
    for (const line of [...removed, ...added]) reversed.push(line)
    removed = []
    added = []
  }
  for (const { sign } of lines) {
    const before = sign === '+' ? undefined : old[oldLine++]!
    const after = sign === '-' ? undefined : fresh[newLine++]!
    if (before !== undefined && before === after) {
      flush()
      reversed.push(written(' ', before))
      continue
    }
    if (after !== undefined) removed.push(written('-', after))
    if (before !== undefined) added.push(written('+', before))
  }
  flush()
  return `@@ -${range(newAt, newLine)} +${range(at, oldLine)} @@\n${reversed.join('')}`
}

/** An empty range names the line before it. */
const range = (start: number, end: number): string =>
  end === start ? `${start},0` : end - start === 1 ? `${start + 1}` : `${start + 1},${end - start}`

const written = (sign: ' ' | '-' | '+', line: string): string =>
  `${sign}${line}${lineEndOf(line) === '' ? '\n\\ No newline at end of file\n' : ''}`

const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '"': '\\"', '\\': '\\\\' }

function quoted(prefix: string, path: string): string {
  const bytes = Buffer.from(prefix + path).toString('latin1')
  // eslint-disable-next-line no-control-regex
  if (!/[\0-\x1f"\\\x7f]/.test(bytes)) return bytes
  const escape = (byte: string): string => ESCAPES[byte] ?? `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
  // eslint-disable-next-line no-control-regex
  return `"${bytes.replaceAll(/[\0-\x1f"\\\x7f]/g, escape)}"`
}
