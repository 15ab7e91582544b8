import { isUtf8 } from 'node:buffer'
import { BulkheadError } from '@bulkhead/contract'
import type { EffectCounter } from '../model/capability.ts'
import type { BeforeChange } from './change-record.ts'
import type { FileScope } from './file-scope.ts'
import { editDiff, withChanges, type Change } from './line-diff.ts'
import type { ResolvedPath } from './path-policy.ts'
import { MAX_BYTES, readFile } from './read-file.ts'
import { queueForFile, replaceFile, tooLong, type TextTarget } from './write-file.ts'

export interface Edit {
  readonly before: string
  readonly after: string
  readonly all: boolean
}

export interface EditedFile {
  readonly replacements: number
  diff(): string
}

export interface EditParts {
  readonly before: BeforeChange
  readonly effects?: EffectCounter | undefined
  /** Has the text of the file before the disk does. */
  readonly client?: TextFiles | undefined
}

/** Reads and writes the text of a file. undefined: the disk has it. */
export interface TextFiles extends TextTarget {
  read(scope: FileScope, resolved: ResolvedPath): Promise<Buffer | undefined>
}

/**
 * Replaces a string that occurs once, or all occurrences. Contract: otherwise rejects with InputInvalid and changes
 * nothing.
 */
export function editFile(
  scope: FileScope, resolved: ResolvedPath, edit: Edit, { before, effects, client }: EditParts,
): Promise<EditedFile> {
  const { given } = resolved
  return queueForFile(resolved.real, async () => {
    const held = await client?.read(scope, resolved)
    const read = held ?? await readFile(scope, resolved, {})
    effects?.add('readBytes', read.length)
    const text = openText(read, given)
    const { bytes, changes } = replaceText(text.bytes, edit, given)
    if (!text.isUtf8 && /[^\0-\x7f]/.test(edit.after)) {
      throw new BulkheadError('InputInvalid', `"${given}" is not UTF-8, so the new string must be plain ASCII.`)
    }
    const written = text.close(bytes)
    effects?.add('writtenBytes', written.length)
    if (held === undefined || await client?.write(scope, resolved, written, before) === undefined) {
      await scope.inFolder(resolved, (folder, name) => replaceFile(
        folder, name, { path: given, before, known: held === undefined ? read : undefined }, written,
      ))
    }
    return { replacements: changes.length, diff: () => editDiff(given, text.bytes, changes) }
  })
}

/** The file after an edit. Throws InputInvalid as `editFile` does. */
export function editedBytes(read: Buffer, edit: Edit, path: string): Buffer {
  const text = openText(read, path)
  return text.close(replaceText(text.bytes, edit, path).bytes)
}

/** The content of a file as UTF-8, or as it is if the encoding is unknown. */
export interface OpenedText {
  readonly bytes: Buffer
  readonly isUtf8: boolean
  /** Converts back to the encoding of the file. */
  close(bytes: Buffer): Buffer
}

const LITTLE = Buffer.from([0xff, 0xfe])
const BIG = Buffer.from([0xfe, 0xff])

/** Throws InputInvalid for malformed UTF-16, which could not be written back unchanged. */
function openText(bytes: Buffer, path: string): OpenedText {
  const mark = bytes.subarray(0, 2)
  const big = mark.equals(BIG)
  if (!big && !mark.equals(LITTLE)) return { bytes, isUtf8: isUtf8(bytes), close: (changed) => changed }
  const text = bytes.length % 2 === 0 ? (big ? Buffer.from(bytes).swap16() : bytes).toString('utf16le') : ''
  if (text === '' || !text.isWellFormed()) {
    throw new BulkheadError(
      'InputInvalid',
      `"${path}" has a UTF-16 byte order mark but is not valid UTF-16. Write the whole file instead.`,
    )
  }
  const close = (changed: Buffer): Buffer => {
    const encoded = Buffer.from(changed.toString('utf8'), 'utf16le')
    return big ? encoded.swap16() : encoded
  }
  return { bytes: Buffer.from(text), isUtf8: true, close }
}

export interface Replaced {
  readonly bytes: Buffer
  /** In order, without overlaps. */
  readonly changes: readonly Change[]
}

const LF = 10
const CR = 13

/** Throws InputInvalid if the string does not occur, or occurs more than once without `all`. */
function replaceText(content: Buffer, { before, after, all }: Edit, path: string): Replaced {
  if (before === '') throw refused('The old string is empty. To create a file, write it.')
  if (before === after) throw refused('The old and the new string are the same.')
  const [old, replacement, offsets] = find(content, { before, after, all })
  if (offsets.length === 0) {
    throw refused(`The old string does not occur in "${path}". Read the file and copy it exactly.`)
  }
  if (offsets.length > 1 && !all) {
    const times = offsets.length === MANY ? `${MANY} times or more` : `${offsets.length} times`
    throw refused(`The old string occurs ${times} in "${path}". Make it longer until it is unique, or replace all.`)
  }
  if (offsets.length === MANY) {
    throw refused(
      `The old string occurs ${MANY} times or more in "${path}", too often to replace. Write the whole file instead.`,
    )
  }
  const changes = offsets.map((at) => ({ at, before: old, after: replacement }))
  const bytes = content.length + changes.length * (replacement.length - old.length)
  // Checked before allocating. Twice the limit, because UTF-16 content may be longer as UTF-8.
  if (bytes > 2 * MAX_BYTES) throw tooLong(path, bytes)
  return { bytes: withChanges(content, changes), changes }
}

/**
 * If all lines of the file end in CRLF, both strings are converted to CRLF, because models write LF. In a mixed file
 * the strings are tried as given first, then with CRLF.
 */
function find(
  content: Buffer, { before, after, all }: Edit,
): readonly [old: Buffer, replacement: Buffer, offsets: readonly number[]] {
  const spansLines = /\n/.test(before + after)
  if (!spansLines || !endsInCrlf(content)) {
    const exact = attempt(content, { before, after, all })
    if (exact[2].length > 0 || !spansLines || !content.includes('\r\n')) return exact
  }
  return attempt(content, { before: withCrlf(before), after: withCrlf(after), all })
}

function attempt(content: Buffer, { before, after, all }: Edit): readonly [Buffer, Buffer, readonly number[]] {
  const old = Buffer.from(before)
  // Overlapping occurrences are ambiguous if only one is to be replaced.
  return [old, Buffer.from(after), offsetsOf(old, content, { most: MANY, overlapping: !all })]
}

const MANY = 100_000

const withCrlf = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n')

/** Whether there is a line end, and all are CRLF. */
function endsInCrlf(content: Buffer): boolean {
  const first = content.indexOf(LF)
  if (first < 0) return false
  for (let at = first; at < content.length; at++) if (content[at] === LF && content[at - 1] !== CR) return false
  return true
}

const refused = (message: string): BulkheadError => new BulkheadError('InputInvalid', message)

/** Buffer.indexOf is fast, but quadratic for some long needles. It searches for the first bytes only. */
const HEAD_BYTES = 128

export interface OffsetsOptions {
  readonly most: number
  /** Whether an occurrence counts that begins inside the previous one. */
  readonly overlapping: boolean
}

/**
 * Offsets of a byte string, in linear time (Knuth-Morris-Pratt): both strings are untrusted and the host waits.
 * Contract: `sought` is not empty.
 */
export function offsetsOf(sought: Buffer, content: Buffer, { most, overlapping }: OffsetsOptions): readonly number[] {
  const head = sought.subarray(0, HEAD_BYTES)
  const borders = bordersOf(sought)
  const offsets: number[] = []
  let matched = 0
  for (let at = 0; at < content.length && offsets.length < most; at++) {
    if (matched === 0) at = content.indexOf(head, at)
    if (at < 0) break
    while (matched > 0 && content[at] !== sought[matched]) matched = borders[matched - 1]!
    if (content[at] === sought[matched]) matched++
    if (matched < sought.length) continue
    offsets.push(at + 1 - matched)
    matched = overlapping ? borders[matched - 1]! : 0
  }
  return offsets
}

/** For each prefix: the length of its longest proper prefix that is also a suffix. */
function bordersOf(bytes: Buffer): Int32Array {
  const borders = new Int32Array(bytes.length)
  for (let at = 1, length = 0; at < bytes.length; at++) {
    while (length > 0 && bytes[at] !== bytes[length]) length = borders[length - 1]!
    if (bytes[at] === bytes[length]) length++
    borders[at] = length
  }
  return borders
}
