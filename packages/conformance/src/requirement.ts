import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'

/** must: an extension that breaks it does not conform. should: a warning. */
export type Level = 'must' | 'should'

/**
 * One demand on an extension, and the check that proves it. `check` returns what breaks it, as the end of a sentence
 * that begins with the extension or tool; undefined if it holds; null if it could not be tried.
 */
export interface Requirement<Facts> {
  readonly id: string
  readonly level: Level
  readonly statement: string
  readonly why: string
  /** The page that defines it. */
  readonly spec: string
  readonly cure: string
  readonly check: (facts: Facts) => string | undefined | null
}

type RequirementGroups = Readonly<Record<string, readonly { readonly id: string }[]>>

/** Tells which requirements to check. `only` has ids of requirements or groups. Throws ConfigInvalid for an unknown id. */
export function chosenBy(
  only: readonly string[] | undefined, groups: RequirementGroups,
): (group: string, id: string) => boolean {
  const known = [...Object.keys(groups), ...Object.values(groups).flat().map(({ id }) => id)]
  const unknown = only?.find((id) => !known.includes(id))
  if (unknown !== undefined) {
    throw new BulkheadError('ConfigInvalid', `There is no requirement "${unknown}".${meantNames(unknown, known)}`)
  }
  return (group, id) => only === undefined || only.includes(id) || only.includes(group)
}

/** What is known about one use of a tool. */
export interface ToolFact {
  readonly tool: { readonly name: string }
  readonly args?: JsonObject
}

/** The beginning of arguments, for people. */
const shown = (args: JsonObject): string => {
  const text = JSON.stringify(args)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

/** Names the tool and its arguments before the evidence. */
export const about = ({ tool, args }: ToolFact, evidence: string): string =>
  `${tool.name}${args ? ` ${shown(args)}` : ''}: ${evidence}`

/** The first use of a tool that breaks something. */
export const firstFact = <Fact extends ToolFact>(
  facts: Iterable<Fact>, evidence: (fact: Fact) => string | undefined | false,
): string | undefined => firstOf(facts, (fact) => {
  const found = evidence(fact)
  return found ? about(fact, found) : undefined
})

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
