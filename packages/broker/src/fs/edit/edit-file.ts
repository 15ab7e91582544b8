import { isUtf8 } from 'node:buffer'
import { BulkheadError } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import { queueForFile, replaceFile } from '../write-file.ts'
import type { ResolvedPath } from '../path-policy.ts'
import type { EffectCounter } from '../../model/capability.ts'
import { readFile } from '../read-file.ts'
import { replaceText } from './replace-text.ts'
import { unifiedDiff } from './unified-diff.ts'

export interface Edit {
  readonly before: string
  readonly after: string
  readonly all: boolean
}

export interface EditedFile {
  readonly replacements: number
  diff(): string
}

/** Replaces a string that occurs once, or all occurrences. Contract: otherwise rejects with InputInvalid and changes nothing. */
export function editFile(scope: FileScope, resolved: ResolvedPath, edit: Edit, effects?: EffectCounter): Promise<EditedFile> {
  const { given } = resolved
  return queueForFile(resolved.real, async () => {
    const read = await readFile(scope, resolved, {})
    effects?.add('readBytes', read.length)
    const text = openText(read, given)
    const { bytes, changes } = replaceText(text.bytes, edit, given)
    if (!text.isUtf8 && /[^\0-\x7f]/.test(edit.after)) {
      throw new BulkheadError('InputInvalid', `"${given}" is not UTF-8, so the new string must be plain ASCII.`)
    }
    const written = text.close(bytes)
    effects?.add('writtenBytes', written.length)
    await scope.inFolder(resolved, (folder, name) => replaceFile(folder, name, given, written))
    return { replacements: changes.length, diff: () => unifiedDiff(given, text.bytes, changes) }
  })
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
export function openText(bytes: Buffer, path: string): OpenedText {
  const mark = bytes.subarray(0, 2)
  const big = mark.equals(BIG)
  if (!big && !mark.equals(LITTLE)) return { bytes, isUtf8: isUtf8(bytes), close: (changed) => changed }
  const text = bytes.length % 2 === 0 ? (big ? Buffer.from(bytes).swap16() : bytes).toString('utf16le') : ''
  if (text === '' || !text.isWellFormed()) {
    throw new BulkheadError('InputInvalid', `"${path}" has a UTF-16 byte order mark but is not valid UTF-16. Write the whole file instead.`)
  }
  const close = (changed: Buffer): Buffer => {
    const encoded = Buffer.from(changed.toString('utf8'), 'utf16le')
    return big ? encoded.swap16() : encoded
  }
  return { bytes: Buffer.from(text), isUtf8: true, close }
}
