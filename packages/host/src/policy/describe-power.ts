import { beyond, powerItems, type PowerCapability, type Power, type PowerItem } from '@bulkhead/contract'

const CAPABILITY_WORDS: Readonly<Record<PowerCapability, string>> = {
  interact: 'ask you questions', 'tools.call': 'call other tools', session: 'keep notes for this session',
  subagents: 'start sub-agents',
}

const WORDS: Readonly<Record<PowerItem['kind'], (subject: string) => string>> = {
  'fs.read': (path) => `read ${path}`,
  'fs.write': (path) => `write ${path}`,
  net: (host) => `reach ${host}`,
  shell: (command) => `run ${command}`,
  capability: (name) => CAPABILITY_WORDS[name as PowerCapability],
  env: (name) => `read the variable ${name}`,
  secret: (use) => `use the secret ${use.replace(' to ', ' for ')}`,
  state: (owner) => `read and write the stored state of ${owner}`,
}

export const inWords = ({ kind, subject }: Pick<PowerItem, 'kind' | 'subject'>): string => WORDS[kind](subject)

/** A power in words, under its ceilings, one line for each item. */
export const describePower = (power: Power): readonly string[] => powerItems(power).map(inWords)

/** What a power allows beyond another, one line for each item. */
export const outside = (power: Power, ceiling: Power): readonly string[] => beyond(power, ceiling).map(inWords)

/**
 * The kinds of a power that another power lacks, one line for each item. Variables, secrets and state are declared for
 * a whole extension, and which of its tools needs them is not known, so they do not count.
 */
export function lostKinds(power: Power, left: Power): readonly string[] {
  const kept = new Set(powerItems(left).map(kindOf))
  return powerItems(power).filter((item) => !OF_EXTENSION.has(item.kind) && !kept.has(kindOf(item))).map(inWords)
}

const OF_EXTENSION: ReadonlySet<PowerItem['kind']> = new Set(['env', 'secret', 'state'])

/** Each capability is a kind of its own. */
const kindOf = ({ kind, subject }: PowerItem): string => kind === 'capability' ? `${kind} ${subject}` : kind
