import { canonicalJson, type Json, type JsonObject } from '../json.ts'
import type { Situated } from './dynamic-scope.ts'
import type { Evaluation } from './evaluation.ts'

export interface AjvError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

interface KeywordCheck {
  (value: never): boolean
  errors?: readonly Partial<AjvError>[]
}

export interface AjvKeyword {
  readonly keyword: string
  /** Absent for a keyword that applies to every value. */
  readonly type?: 'array' | 'number' | 'object'
  /** The keyword that Ajv checks next. */
  readonly before?: string
  /** Ajv reads the error from the check function. */
  readonly errors: true
  compile(setting: never): KeywordCheck
}

/** Equal for equal values only, regardless of the order of members. */
const keyOf = (value: Json): Json =>
  typeof value === 'object' && value !== null ? canonicalJson(value) : typeof value === 'string' ? `"${value}` : value

/** A check in Ajv's form. `find` returns the fault, or undefined. */
function keywordCheck<Value, Found>(
  keyword: string, message: (found: Found) => string, find: (value: Value) => Found | undefined,
  params: (found: Found) => AjvError['params'] = (found) => typeof found === 'string' ? { member: found } : {},
): KeywordCheck {
  const check = (value: Value): boolean => {
    const found = find(value)
    if (found === undefined) return true
    check.errors = [{ keyword, message: message(found), params: params(found) }]
    return false
  }
  check.errors = [] as readonly Partial<AjvError>[]
  return check as KeywordCheck
}

/**
 * `const` and `enum` with lists or objects. Ajv compares those with a function that calls `valueOf` and `toString` of
 * the value and compares its `constructor`, so that members with these names make it throw or give a wrong result.
 */
export const DEEP_CONST = 'deepConst'
export const DEEP_ENUM = 'deepEnum'

function isEqual(one: Json, other: Json): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [left, right] = [one as JsonObject, other as JsonObject]
  const names = Object.keys(left)
  return names.length === Object.keys(right).length
    && names.every((name) => Object.hasOwn(right, name) && isEqual(left[name]!, right[name]!))
}

/** Replacements of Ajv's keywords that are slow or wrong. */
const KEYWORDS: readonly AjvKeyword[] = [
  {
    // Ajv compares all pairs: 25,000 objects take half a minute.
    keyword: 'uniqueItems', type: 'array', errors: true,
    compile: (isWanted: boolean) => keywordCheck('uniqueItems', () => 'must NOT have duplicate items',
      (items: readonly Json[]) => {
        const seen = new Set<Json>()
        return isWanted && items.some((item) => seen.size === seen.add(keyOf(item)).size) ? items : undefined
      }),
  },
  {
    // Ajv divides in binary, where 19.99 is not a multiple of 0.01.
    keyword: 'multipleOf', type: 'number', errors: true,
    compile: (factor: number) => keywordCheck('multipleOf', () => `must be multiple of ${factor}`,
      (value: number) => isMultipleOf(value, factor) ? undefined : value),
  },
  {
    // Before `not`, as `const` and `enum` are, because the first fault is reported.
    keyword: DEEP_CONST, before: 'not', errors: true,
    compile: (allowedValue: Json) => keywordCheck('const', () => 'must be equal to constant',
      (value: Json) => isEqual(value, allowedValue) ? undefined : true, () => ({ allowedValue })),
  },
  {
    keyword: DEEP_ENUM, before: 'not', errors: true,
    compile: (allowedValues: readonly Json[]) => keywordCheck(
      'enum', () => 'must be equal to one of the allowed values',
      (value: Json) => allowedValues.some((allowed) => isEqual(value, allowed)) ? undefined : true,
      () => ({ allowedValues })),
  },
]

export interface Evaluating {
  readonly unevaluated: readonly Situated[]
  readonly evaluation: Evaluation
}

const unevaluatedKeywords = (current: () => Evaluating): readonly AjvKeyword[] => [
  {
    keyword: 'unevaluatedProperties', type: 'object', errors: true,
    compile(index: number) {
      const { unevaluated, evaluation } = current()
      const message = (name: string) => `must NOT have unevaluated properties (${JSON.stringify(name)})`
      return keywordCheck('unevaluatedProperties', message,
        (value: JsonObject) => evaluation.wrongProperty(unevaluated[index]!, value))
    },
  },
  {
    keyword: 'unevaluatedItems', type: 'array', errors: true,
    compile(index: number) {
      const { unevaluated, evaluation } = current()
      return keywordCheck('unevaluatedItems', (at: number) => `must NOT have unevaluated items (at ${at})`,
        (value: readonly Json[]) => evaluation.wrongItem(unevaluated[index]!, value))
    },
  },
]

/** Keywords that replace those of Ajv. `current` is the schema that is being compiled. */
export const ajvKeywords = (current: () => Evaluating): readonly AjvKeyword[] =>
  [...KEYWORDS, ...unevaluatedKeywords(current)]

/** Whether a number is a multiple of another in decimal: 19.99 is a multiple of 0.01, although not in binary. */
export function isMultipleOf(value: number, factor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0
  const a = decimal(value)
  const b = decimal(factor)
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

function decimal(value: number): Decimal {
  const [mantissa = '', power = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to)
