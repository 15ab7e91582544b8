import { createHash } from 'node:crypto'
import type { ModelProfile, NameRule } from './profiles.ts'

/** The names of tools as a provider accepts them. Unknown names are returned unchanged, for the host's error. */
export interface ProviderNames {
  /** The name for the provider. */
  of(tool: string): string
  /** The tool that the model means. */
  tool(name: string): string
}

const HASH_CHARS = 8

/**
 * Maps tool names to names that the provider accepts, and back. A legal name stays as it is. Others get a hash if they
 * are too long or if two would be equal. Contract: the result depends on the set of tools, not on their order, so pass
 * the same tools for definitions and for calls.
 */
export function providerNames(
  tools: Iterable<{ readonly name: string }>, { names: rule }: ModelProfile,
): ProviderNames {
  const all = [...new Set(Array.from(tools, ({ name }) => name))]
  const legal = new Set(all.filter((name) => isLegal(name, rule)))
  const others = all.filter((name) => !legal.has(name)).toSorted()
  const wanted = new Map<string, number>()
  for (const name of others) wanted.set(plain(name, rule), (wanted.get(plain(name, rule)) ?? 0) + 1)

  const outgoing = new Map(Array.from(legal, (name) => [name, name]))
  const incoming = new Map(outgoing)
  for (const name of others) {
    const short = plain(name, rule)
    const isFree = (one: string): boolean => one.length <= rule.maxLength && !incoming.has(one)
    const free = wanted.get(short) === 1 && isFree(short) ? short : hashed(name, rule, isFree)
    outgoing.set(name, free)
    incoming.set(free, name)
  }
  return { of: (tool) => outgoing.get(tool) ?? tool, tool: (name) => incoming.get(name) ?? name }
}

const isLegal = (name: string, rule: NameRule): boolean => name !== '' && plain(name, rule) === name
  && name.length <= rule.maxLength

/** Legal characters only, of any length. */
function plain(name: string, { illegal, anyStart }: NameRule): string {
  const legal = name.replaceAll(illegal, '_')
  return legal === '' || (!anyStart && !/^[A-Za-z_]/.test(legal)) ? `_${legal}` : legal
}

/** Ends, because each turn is a name that another tool would have to have. */
function hashed(name: string, rule: NameRule, isFree: (name: string) => boolean): string {
  for (let turn = 0; ; turn++) {
    const suffix = `_${createHash('sha256').update(`${turn}:${name}`).digest('hex').slice(0, HASH_CHARS)}`
    const candidate = plain(name, rule).slice(0, rule.maxLength - suffix.length) + suffix
    if (isFree(candidate)) return candidate
  }
}
