import { canonicalJson, type Json, type JsonObject } from '../json.ts'
import { allOf, fault, type Check, type KeywordGroup } from './check.ts'
import { isMultipleOf } from './multiple-of.ts'

const IS: Readonly<Record<string, (value: Json) => boolean>> = {
  array: (value) => Array.isArray(value),
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => typeof value === 'number' && Number.isInteger(value),
  null: (value) => value === null,
  number: (value) => typeof value === 'number',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  string: (value) => typeof value === 'string',
}

/** `type`, `enum` and `const`. */
export const kinds: KeywordGroup = (schema) => {
  const { type, enum: allowed, const: only } = schema
  return allOf([
    type === undefined ? undefined : ofType(Array.isArray(type) ? type as readonly string[] : [type as string]),
    allowed === undefined ? undefined : oneOf(allowed as readonly Json[], 'enum', `must be equal to one of the allowed values ${JSON.stringify(allowed)}`),
    only === undefined ? undefined : oneOf([only], 'const', `must be equal to constant ${JSON.stringify(only)}`),
  ])
}

function ofType(types: readonly string[]): Check {
  const wrong = fault('type', `must be ${types.join(',')}`)
  const [first, ...others] = types.map((type) => IS[type]!)
  if (others.length === 0) return (value) => first!(value) ? undefined : wrong
  return (value) => first!(value) || others.some((is) => is(value)) ? undefined : wrong
}

function oneOf(allowed: readonly Json[], keyword: string, message: string): Check {
  const wrong = fault(keyword, message)
  const keys = new Set(allowed.map(keyOf))
  const hasContainers = allowed.some(isContainer)
  return (value) => (hasContainers || !isContainer(value)) && keys.has(keyOf(value)) ? undefined : wrong
}

const isContainer = (value: Json): boolean => typeof value === 'object' && value !== null

/** The same for equal values and for no others, whatever the order of their members. */
export const keyOf = (value: Json): Json => isContainer(value) ? canonicalJson(value) : typeof value === 'string' ? `"${value}` : value

/** A keyword that bounds something, with what it says when the bound is crossed. */
type Bound = readonly [keyword: string, message: string, holds: (size: number, limit: number) => boolean]

const NUMBER_BOUNDS: readonly Bound[] = [
  ['maximum', 'must be <=', (size, limit) => size <= limit], ['minimum', 'must be >=', (size, limit) => size >= limit],
  ['exclusiveMaximum', 'must be <', (size, limit) => size < limit], ['exclusiveMinimum', 'must be >', (size, limit) => size > limit],
  ['multipleOf', 'must be multiple of', isMultipleOf],
]

export const numbers: KeywordGroup = (schema) => {
  const bounds = NUMBER_BOUNDS.filter(([keyword]) => schema[keyword] !== undefined).map(([keyword, message, holds]) => {
    const limit = schema[keyword] as number
    return { limit, holds, wrong: fault(keyword, `${message} ${limit}`) }
  })
  if (bounds.length === 0) return undefined
  return (value) => typeof value === 'number' ? bounds.find(({ limit, holds }) => !holds(value, limit))?.wrong : undefined
}

export const texts: KeywordGroup = (schema, compiling) => {
  const { maxLength, minLength, pattern: source } = schema as Readonly<Record<string, number | undefined>> & JsonObject
  const pattern = typeof source === 'string' ? compiling.pattern(source) : undefined
  if (maxLength === undefined && minLength === undefined && pattern === undefined) return undefined
  const tooLong = fault('maxLength', `must NOT have more than ${maxLength} characters`)
  const tooShort = fault('minLength', `must NOT have fewer than ${minLength} characters`)
  const noMatch = fault('pattern', `must match pattern "${String(source)}"`)
  return (value) => {
    if (typeof value !== 'string') return undefined
    // A character takes one unit or two: most texts need no counting.
    if (maxLength !== undefined && value.length > maxLength && charactersOf(value) > (maxLength as number)) return tooLong
    if (minLength !== undefined && value.length < 2 * (minLength as number) && charactersOf(value) < (minLength as number)) return tooShort
    return pattern === undefined || pattern.test(value) ? undefined : noMatch
  }
}

function charactersOf(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    const isPair = unit >= 0xd800 && unit <= 0xdbff && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00
    if (isPair) index++
    count++
  }
  return count
}
