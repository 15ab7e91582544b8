import type { Json, JsonObject } from '@bulkhead/kit/json'
import { constrains } from '@bulkhead/kit/schema'
import { PLAIN } from './plain-keywords.ts'
import {
  assumed, below, Facts, isAbout, matches, namedTypes, partsOf, typeOf, type Part, type Place,
} from './schema-facts.ts'
import { areDisjoint, casesOf, isSame, isSameKeyword, isWithin } from './schema-relations.ts'

/** A place where the narrow schema may accept a value that the wide one rejects. */
export interface Gap {
  /** JSON Pointer from the root of the schema. */
  readonly path: string
  /** Set if `wide` and `narrow` are about one member of the place. */
  readonly about?: string
  /** What each schema has there. */
  readonly wide: string
  readonly narrow: string
  /** The wide schema declares a property, and the narrow one does not. Only for results. */
  readonly field?: true
}

export interface CoverOptions {
  /**
   * For results: readers ignore properties that they do not know, so a closed object covers further ones, and rely on
   * those that were declared.
   */
  readonly results?: boolean
}

/** Larger comparisons are given up. Then the schema counts as not covered. */
const MAX_STEPS = 5_000
const MAX_SHOWN = 60

/**
 * Where `wide` may reject a value that `narrow` accepts; empty only if it rejects none. A change that cannot be
 * compared is a gap.
 */
export function findGaps(wide: Place, narrow: Place, { results = false }: CoverOptions = {}): readonly Gap[] {
  const found = new Cover(results).gaps(wide, new Facts(partsOf(narrow)))
  return [...new Map(found.map((gap) => [`${gap.path} ${gap.about ?? ''}`, gap])).values()]
}

type Check = (wanted: Json, part: Part, narrow: Facts) => readonly Gap[]

const shown = (value: Json | undefined): string => {
  if (value === undefined) return 'absent'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

const gapAt = (part: Part, keyword: string, narrow: Facts): Gap =>
  ({ path: `${part.path}/${keyword}`, wide: shown(part.keywords[keyword]), narrow: shown(narrow.settings(keyword)[0]) })

class Cover {
  readonly #results: boolean
  /** Comparisons under way. A schema that contains itself meets them again below, and they hold there if they hold. */
  readonly #open = new Set<string>()
  #steps = 0

  constructor(results: boolean) {
    this.#results = results
  }

  gaps(wide: Place, narrow: Facts): readonly Gap[] {
    if (narrow.impossible || wide.schema === true) return []
    if (wide.schema === false) return [{ path: wide.path, wide: 'not allowed', narrow: 'allowed' }]
    return partsOf(wide).flatMap((part) => this.#partGaps(part, narrow))
  }

  #covers = (wide: Place, narrow: Facts): boolean => this.gaps(wide, narrow).length === 0

  #partGaps(part: Part, narrow: Facts): readonly Gap[] {
    const key = [part.id, ...narrow.parts.map(({ id }) => id).toSorted()].join('\n')
    if (this.#open.has(key)) return []
    if (++this.#steps > MAX_STEPS) {
      const about = 'is too large to compare;'
      return [{ path: part.path, about, wide: shown(part.schema), narrow: 'another schema' }]
    }
    this.#open.add(key)
    const found = this.#keywordGaps(part, narrow)
    const cases = found.length === 0 ? undefined : casesOf(narrow, part)
    // Compare each alternative of the narrow schema alone: together they may be covered.
    const alone = cases?.flatMap((one) => one.impossible ? [] : this.#partGaps(part, one)) ?? found
    this.#open.delete(key)
    return alone
  }

  #keywordGaps(part: Part, narrow: Facts): readonly Gap[] {
    return Object.entries(part.keywords).flatMap(([keyword, wanted]) => {
      if (!constrains(keyword) || !isAbout(keyword, narrow.types)) return []
      const rule = PLAIN[keyword]
      if (rule === undefined) return this.#checks[keyword]?.(wanted, part, narrow) ?? []
      if (rule.isImplied(wanted as never, narrow)) return []
      const holds = narrow.values?.every((value) =>
        !isAbout(keyword, new Set([typeOf(value)])) || rule.holds(wanted as never, value as never))
      return holds === true ? [] : [gapAt(part, keyword, narrow)]
    })
  }

  readonly #checks: Readonly<Record<string, Check>> = {
    type: (wanted, part, narrow) =>
      narrow.types.isSubsetOf(namedTypes(wanted)) ? [] : [gapAt(part, 'type', narrow)],
    const: (wanted, part, narrow) => isWithin(narrow, [wanted]) ? [] : [gapAt(part, 'const', narrow)],
    enum: (wanted, part, narrow) => isWithin(narrow, wanted as readonly Json[]) ? [] : [gapAt(part, 'enum', narrow)],

    required: (wanted, part, narrow) => {
      const { required } = narrow
      return (wanted as readonly string[]).filter((name) => !required.has(name))
        .map((name) => ({
          path: `${part.path}/required`, about: JSON.stringify(name), wide: 'required', narrow: 'optional',
        }))
    },
    properties: (wanted, part, narrow) => {
      const { declared } = narrow
      return Object.keys(wanted as JsonObject).flatMap((name): readonly Gap[] => {
        const place = below(part, 'properties', name)
        if (this.#results && !declared.has(name)) {
          return [{ path: place.path, wide: 'declared', narrow: 'undeclared', field: true }]
        }
        const value = narrow.property(name)
        const found = this.gaps(place, value)
        if (declared.has(name) || found.length === 0 || value.parts.length > 0) return found
        return [{ path: place.path, wide: shown(place.schema), narrow: 'any value' }]
      })
    },
    patternProperties: (wanted, part, narrow) => {
      const { declared, patterns } = narrow
      return Object.keys(wanted as JsonObject).flatMap((pattern) => {
        const place = below(part, 'patternProperties', pattern)
        const named = [...declared.keys()].filter((name) => matches(pattern, name) !== false)
          .map((name) => narrow.property(name))
        const others = patterns.has(pattern) ? [narrow.matching(pattern)]
          : [narrow.otherProperties, ...[...patterns].map((one) => narrow.matching(one))]
        return [...named, ...others].flatMap((one) => this.gaps(place, one))
      })
    },
    additionalProperties: (wanted, part, narrow) => {
      if (this.#results && wanted === false) return []
      const place = below(part, 'additionalProperties')
      const { declared, patterns } = new Facts([part])
      const isListed = (name: string): boolean =>
        declared.has(name) || [...patterns].some((pattern) => matches(pattern, name))
      const named = [...narrow.declared].filter(([name]) => !isListed(name)).flatMap(([name, { path }]) => {
        const found = this.gaps(place, narrow.property(name))
        return wanted === false ? found.map((gap) => ({ ...gap, path })) : found
      })
      const matching = [...narrow.patterns.difference(patterns)]
        .flatMap((pattern) => this.gaps(place, narrow.matching(pattern)))
      const others = this.#covers(place, narrow.otherProperties) ? [] : [gapAt(part, 'additionalProperties', narrow)]
      return [...named, ...matching, ...others]
    },
    propertyNames: (_, part, narrow) => {
      const place = below(part, 'propertyNames')
      const isClosed = narrow.otherProperties.impossible && narrow.patterns.size === 0
      const names = isClosed ? [...narrow.declared.keys()].map((name) => [assumed(part, 'const', name)])
        : [[assumed(part, 'type', 'string'), ...narrow.having('propertyNames')
          .flatMap((one) => partsOf(below(one, 'propertyNames')))]]
      const areCovered = names.every((parts) => this.#covers(place, new Facts(parts)))
      return areCovered ? [] : [gapAt(part, 'propertyNames', narrow)]
    },
    dependentRequired: (wanted, part, narrow) => {
      const isImplied = ([name, needs]: [string, Json]): boolean => {
        const own = narrow.settings('dependentRequired')
          .flatMap((one) => Object.hasOwn(one as JsonObject, name) ? (one as JsonObject)[name] as string[] : [])
        const known = narrow.required.union(new Set(own))
        return (needs as readonly string[]).every((need) => known.has(need)) || narrow.property(name).impossible
      }
      const areImplied = Object.entries(wanted as JsonObject).every(isImplied)
      return areImplied ? [] : [gapAt(part, 'dependentRequired', narrow)]
    },
    dependentSchemas: (wanted, part, narrow) => Object.keys(wanted as JsonObject)
      .filter((name) => !narrow.property(name).impossible)
      .flatMap((name) => {
        const own = narrow.having('dependentSchemas')
          .filter(({ keywords }) => Object.hasOwn(keywords['dependentSchemas'] as JsonObject, name))
          .flatMap((one) => partsOf(below(one, 'dependentSchemas', name)))
        return this.gaps(below(part, 'dependentSchemas', name), new Facts([...narrow.parts, ...own]))
      }),

    prefixItems: (wanted, part, narrow) => (wanted as readonly Json[])
      .flatMap((_, index) => index >= narrow.maxItems ? []
        : this.gaps(below(part, 'prefixItems', index), narrow.item(index))),
    items: (_, part, narrow) => {
      const start = new Facts([part]).prefixLength
      // The item after all prefixes stands for all later ones.
      const end = Math.max(start, narrow.prefixLength)
      return Array.from({ length: end - start + 1 }, (_none, index) => start + index)
        .filter((index) => index < narrow.maxItems)
        .flatMap((index) => this.gaps(below(part, 'items'), narrow.item(index)))
    },
    contains: (_, part, narrow) => {
      const limits = ({ keywords: { minContains = 1, maxContains = Infinity } }: Part) =>
        [minContains, maxContains] as [number, number]
      const [min, max] = limits(part)
      const isImplied = narrow.having('contains').some((one) => {
        const [atLeast, atMost] = limits(one)
        return atLeast >= min && atMost <= max && isSame(below(part, 'contains'), below(one, 'contains'))
      })
      return isImplied || (min === 0 && max === Infinity) ? [] : [gapAt(part, 'contains', narrow)]
    },

    not: (_, part, narrow) => {
      const refused = new Facts(partsOf(below(part, 'not')))
      const isRefused = narrow.having('not').some((one) => this.#covers(below(one, 'not'), refused))
      return isRefused || areDisjoint(refused, narrow) ? [] : [gapAt(part, 'not', narrow)]
    },
    anyOf: (wanted, part, narrow) => this.#optionGaps('anyOf', wanted as readonly Json[], part, narrow),
    oneOf: (wanted, part, narrow) => {
      const options = wanted as readonly Json[]
      if (narrow.having('oneOf').some((one) => isSameKeyword(part, one, 'oneOf'))) return []
      const facts = options.map((_, index) => new Facts(partsOf(below(part, 'oneOf', index))))
      // A value that satisfies two options is rejected.
      const areApart = facts.every((one, index) => facts.slice(index + 1).every((other) => areDisjoint(one, other)))
      return areApart ? this.#optionGaps('oneOf', options, part, narrow) : [gapAt(part, 'oneOf', narrow)]
    },
    if: (_, part, narrow) => {
      const branch = (keyword: 'then' | 'else', more: readonly Part[]): readonly Gap[] => {
        if (part.keywords[keyword] === undefined) return []
        const own = narrow.having(keyword).filter((one) => one.keywords['if'] !== undefined
          && isSame(below(part, 'if'), below(one, 'if'))).flatMap((one) => partsOf(below(one, keyword)))
        return this.gaps(below(part, keyword), new Facts([...narrow.parts, ...more, ...own]))
      }
      return [...branch('then', partsOf(below(part, 'if'))), ...branch('else', [])]
    },
    unevaluatedProperties: (wanted, part, narrow) => wanted === true || (this.#results && wanted === false)
      ? [] : keptWhole(part, 'unevaluatedProperties', narrow),
    unevaluatedItems: (wanted, part, narrow) =>
      wanted === true ? [] : keptWhole(part, 'unevaluatedItems', narrow),
  }

  #optionGaps(keyword: string, options: readonly Json[], part: Part, narrow: Facts): readonly Gap[] {
    const tried = options.map((_, index) => {
      const option = below(part, keyword, index)
      const found = this.gaps(option, narrow)
      const kinds = new Set(partsOf(option).flatMap(({ path }) => [`${path}/type`, `${path}/enum`]))
      // A value of another kind is not meant for the option. A constant may tell the kinds apart.
      const isMeant = found.every(({ path }) => !kinds.has(path) && !path.endsWith('/const'))
      return { found, isMeant }
    })
    if (tried.some(({ found }) => found.length === 0)) return []
    return tried.filter(({ isMeant }) => isMeant).toSorted((a, b) => a.found.length - b.found.length)[0]?.found
      ?? [gapAt(part, keyword, narrow)]
  }
}

/** What these keywords accept depends on all others, so only an unchanged schema is known to be covered. */
const keptWhole = (part: Part, keyword: string, narrow: Facts): readonly Gap[] =>
  narrow.parts.some((one) => isSame(part, one)) ? [] : [gapAt(part, keyword, narrow)]
