import { checkFiles, type FilePatch } from './patch.ts'
import { isBeginPatch, parseBegin } from './parse-begin.ts'
import { parseUnified } from './parse-unified.ts'

/**
 * The files of a patch, in order. Lines are kept as they are: a carriage return before a line end belongs to the file.
 * Throws InputInvalid if the patch cannot be read.
 */
export function parsePatch(patch: string): readonly FilePatch[] {
  const lines = patch.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return checkFiles(isBeginPatch(lines) ? parseBegin(lines) : parseUnified(lines))
}
