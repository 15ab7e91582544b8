import type { TrustRecord } from '@bulkhead/contract'
import type { TrustEntry } from './trust-entry.ts'
import { isBroken, type TrustLines } from './trust-file.ts'

/** What was said last of one project. */
export interface LastWord {
  readonly record: TrustRecord
  /** The start that took it up, where it was for one start. */
  readonly usedBy?: string
}

/**
 * Later lines over earlier ones. A line that cannot be read may have taken back any trust before it: such trust is gone
 * and must be given again, while whatever was declined stays so.
 */
export function lastWords(lines: TrustLines['lines']): ReadonlyMap<string, LastWord> {
  const words = new Map<string, LastWord>()
  for (const line of lines) {
    if (isBroken(line)) {
      for (const [path, { record }] of words) if (record.decision !== 'declined') words.delete(path)
    } else {
      const word = follow(words.get(line.path), line)
      if (word !== undefined) words.set(line.path, word)
    }
  }
  return words
}

function follow(before: LastWord | undefined, { decision, path, decidedAt, digest, id }: TrustEntry): LastWord | undefined {
  if (decision !== 'used') return { record: Object.freeze({ path, decision, decidedAt, digest }) }
  // The first who takes it up has it.
  if (before?.record.decision !== 'once' || before.usedBy !== undefined) return before
  return { ...before, usedBy: id }
}
