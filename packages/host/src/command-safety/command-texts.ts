import { isJsonObject, type Json, type JsonObject } from '@bulkhead/contract'

/**
 * Every text in the arguments that a shell may be handed: each string, and where a command is given in words, the words
 * together. Which argument a stranger's tool runs is not known, so all of them are looked at.
 */
export function commandTexts(args: JsonObject): readonly string[] {
  const texts = new Set<string>()
  collect(args, texts)
  return [...texts]
}

function collect(value: Json, texts: Set<string>): void {
  if (typeof value === 'string') {
    texts.add(value)
  } else if (Array.isArray(value)) {
    const words = wordsOf(value)
    if (words.length > 1) texts.add(words.join(' '))
    for (const member of value as readonly Json[]) collect(member, texts)
  } else if (isJsonObject(value)) {
    const members = Object.values(value)
    const line = programLine(members)
    if (line !== undefined) texts.add(line)
    for (const member of members) collect(member, texts)
  }
}

/** A program beside the list of its arguments, whatever the two are called. */
function programLine(members: readonly Json[]): string | undefined {
  const lists = members.filter((member) => Array.isArray(member)).flatMap(wordsOf)
  const programs = members.filter((member) => typeof member === 'string')
  if (lists.length === 0 || programs.length === 0) return undefined
  return programs.map((program) => [program, ...lists].join(' ')).join('\n')
}

const wordsOf = (list: Json): readonly string[] =>
  Array.isArray(list) ? (list as readonly Json[]).filter((word) => typeof word === 'string') : []
