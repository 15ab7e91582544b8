/** must: an extension that breaks it does not conform. should: a warning. */
export type Level = 'must' | 'should'

/**
 * One demand on an extension, and the check that proves it. `check` returns what breaks it, as the end of a sentence
 * that begins with the extension or tool, or undefined.
 */
export interface Requirement<Facts> {
  readonly id: string
  readonly level: Level
  readonly statement: string
  readonly why: string
  /** The page that defines it. */
  readonly spec: string
  readonly cure: string
  readonly check: (facts: Facts) => string | undefined
}

/** The first evidence that a check of several things finds. */
export function firstOf<Item>(
  items: Iterable<Item>, evidence: (item: Item) => string | undefined,
): string | undefined {
  for (const item of items) {
    const found = evidence(item)
    if (found !== undefined) return found
  }
  return undefined
}
