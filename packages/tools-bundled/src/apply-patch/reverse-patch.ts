import { isUtf8 } from 'node:buffer'
import type { StructuredPatchHunk } from 'diff'
import { formatPatch } from 'diff/lib/patch/create.js'
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

/** In bytes, as characters of a string. The library quotes what is not ASCII in names. */
function reverseFile(file: ResolvedFile, wasExecutable: ReadonlyMap<string, boolean>): string {
  const { from, to, executable, isCopy, old, fresh, placed } = file
  // A copy is removed.
  const [now, then] = [to, isCopy === true ? null : from]
  const was = wasExecutable.get(from ?? to!) === true
  const mode = (isExecutable: boolean): string => isExecutable ? '100755' : '100644'
  const isChanged = now !== null && then !== null
  const changesMode = isChanged && executable !== undefined && executable !== was
  return formatPatch({
    isGit: true,
    oldFileName: now === null ? '/dev/null' : `a/${now}`, newFileName: then === null ? '/dev/null' : `b/${then}`,
    oldHeader: '', newHeader: '',
    isCreate: now === null, isDelete: then === null, isRename: isChanged && now !== then,
    ...(then === null && { oldMode: mode(executable ?? (isCopy === true && was)) }),
    ...(now === null && { newMode: mode(was) }),
    ...(changesMode && { oldMode: mode(executable), newMode: mode(was) }),
    hunks: now === null ? wholeFile('+', old) : then === null ? wholeFile('-', fresh)
      : placed.map((hunk) => reverseHunk(file, hunk)),
  })
}

function wholeFile(sign: '+' | '-', lines: readonly string[]): StructuredPatchHunk[] {
  const [oldLines, newLines] = sign === '+' ? [0, lines.length] : [lines.length, 0]
  return lines.length === 0 ? []
    : [{ oldStart: 1, oldLines, newStart: 1, newLines, lines: lines.flatMap((line) => written(sign, line)) }]
}

function reverseHunk({ old, fresh }: ResolvedFile, { at, newAt, lines }: PlacedHunk): StructuredPatchHunk {
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
      reversed.push(...written(' ', before))
      continue
    }
    if (after !== undefined) removed.push(...written('-', after))
    if (before !== undefined) added.push(...written('+', before))
  }
  flush()
  return { oldStart: newAt + 1, oldLines: newLine - newAt, newStart: at + 1, newLines: oldLine - at, lines: reversed }
}

const written = (sign: ' ' | '-' | '+', line: string): readonly string[] =>
  lineEndOf(line) === '' ? [sign + line, '\\ No newline at end of file'] : [sign + line.slice(0, -1)]
