import type { CallEffect, EffectsLedger } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import { inTurn } from '../file-turns.ts'
import type { Place } from '../path-policy.ts'
import { readFile } from '../read-file.ts'
import { replaceFile } from '../write-file.ts'
import { openText } from './encoding.ts'
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

/** Replaces a text that occurs once, or everywhere. Contract: rejects with InputInvalid and changes nothing otherwise. */
export function editFile(scope: FileScope, place: Place, edit: Edit, effects?: EffectsLedger<CallEffect>): Promise<EditedFile> {
  const { given } = place
  return inTurn(place.real, async () => {
    const read = await readFile(scope, place, {})
    effects?.add('readBytes', read.length)
    const text = openText(read, given)
    const { bytes, changes } = replaceText(text.bytes, edit, given)
    if (!text.isUtf8 && /[^\0-\x7f]/.test(edit.after)) {
      throw new BulkheadError('InputInvalid', `"${given}" is not UTF-8, so only plain ASCII can be put into it.`)
    }
    const written = text.close(bytes)
    effects?.add('writtenBytes', written.length)
    await scope.inFolder(place, (folder, name) => replaceFile(folder, name, given, written))
    return { replacements: changes.length, diff: () => unifiedDiff(given, text.bytes, changes) }
  })
}
