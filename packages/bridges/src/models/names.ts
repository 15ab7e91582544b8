import { createHash } from 'node:crypto'
import type { JsonObject } from '@bulkhead/kit/json'
import { rootProperties } from './loose-schema.ts'
import type { ModelProfile, NameRule } from './profiles.ts'

/** A mapping of names in both directions. Unknown names are returned unchanged, for the host's error. */
interface NameMap {
  outward(name: string): string
  inward(name: string): string
}

const HASH_CHARS = 8

/**
 * Maps names to names that the provider accepts. A legal name stays as it is. Others get a hash if they are too long or
 * if two would be equal. Contract: the result depends on the set of names, not on their order.
 */
function mapNames(names: Iterable<string>, rule: NameRule): NameMap {
  const all = [...new Set(names)]
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
  return { outward: (name) => outgoing.get(name) ?? name, inward: (name) => incoming.get(name) ?? name }
}

/** The names of tools as a provider accepts them. */
export interface ProviderNames {
  /** The name for the provider. */
  of(tool: string): string
  /** The tool that the model means. */
  tool(name: string): string
}

/** Contract: the same tools give the same names, so pass the same for definitions and for calls. */
export function providerNames(
  tools: Iterable<{ readonly name: string }>, { names: rule }: ModelProfile,
): ProviderNames {
  const { outward, inward } = mapNames(Array.from(tools, ({ name }) => name), rule)
  return { of: outward, tool: inward }
}

/** Maps the names of arguments of a full schema. undefined if all of them are legal. */
export function argumentNames(schema: JsonObject, { argumentNames: rule }: ModelProfile): NameMap | undefined {
  if (rule === undefined) return undefined
  const names = Object.keys(rootProperties(schema))
  return names.every((name) => isLegal(name, rule)) ? undefined : mapNames(names, rule)
}

const isLegal = (name: string, rule: NameRule): boolean => name !== '' && plain(name, rule) === name
  && name.length <= rule.maxLength

/** Legal characters only, of any length. */
function plain(name: string, { illegal, anyStart }: NameRule): string {
  const legal = name.replaceAll(illegal, '_')
  return legal === '' || (!anyStart && !/^[A-Za-z_]/.test(legal)) ? `_${legal}` : legal
}

/** Ends, because each turn is a name that is taken only if it is among the given ones. */
function hashed(name: string, rule: NameRule, isFree: (name: string) => boolean): string {
  for (let turn = 0; ; turn++) {
    const suffix = `_${createHash('sha256').update(`${turn}:${name}`).digest('hex').slice(0, HASH_CHARS)}`
    const candidate = plain(name, rule).slice(0, rule.maxLength - suffix.length) + suffix
    if (isFree(candidate)) return candidate
  }
}
