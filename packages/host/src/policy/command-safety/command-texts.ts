import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** How many characters all lines of programs with their arguments may have together: each text may be the program of each list. */
const MAX_LINE_CHARS = 1024 * 1024

/**
 * Every text in the arguments that a shell may be handed: each string, and where a command is given in words, the words
 * together. Which argument a stranger's tool runs is not known, so all of them are looked at. undefined where there are more
 * ways to put them together than anybody would look at.
 */
export function commandTexts(args: JsonObject): ReadonlySet<string> | undefined {
  const found = new CommandTexts()
  found.collect(args)
  return found.lineChars > MAX_LINE_CHARS ? undefined : found.texts
}

class CommandTexts {
  readonly texts = new Set<string>()
  lineChars = 0

  collect(value: Json): void {
    if (typeof value === 'string') {
      this.texts.add(value)
    } else if (Array.isArray(value)) {
      const words = wordsOf(value)
      if (words.length > 1) this.texts.add(words.join(' '))
      for (const member of value as readonly Json[]) this.collect(member)
    } else if (isJsonObject(value)) {
      const members = Object.values(value)
      this.#addLines(members)
      for (const member of members) this.collect(member)
    }
  }

  /** A program beside the list of its arguments, whatever the two are called. */
  #addLines(members: readonly Json[]): void {
    const programs = members.filter((member) => typeof member === 'string')
    const words = members.flatMap(wordsOf)
    if (programs.length === 0 || words.length === 0) return
    const list = words.join(' ')
    this.lineChars += programs.length * list.length
    if (this.lineChars > MAX_LINE_CHARS) return
    for (const program of programs) this.texts.add(`${program} ${list}`)
  }
}

const wordsOf = (list: Json): readonly string[] =>
  Array.isArray(list) ? (list as readonly Json[]).filter((word) => typeof word === 'string') : []
