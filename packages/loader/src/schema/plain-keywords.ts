import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { isMultipleOf } from '@bulkhead/kit/schema'
import { matches, type Facts } from './schema-facts.ts'

/** A keyword with a plain value. */
interface PlainRule {
  /** Whether the keywords of the narrow schema imply it. */
  isImplied(wanted: never, narrow: Facts): boolean
  /** Whether one value satisfies it. */
  holds(wanted: never, value: never): boolean
}

const length = (text: string): number => [...text].length
const least = (keyword: string, size: (value: never) => number): PlainRule => ({
  isImplied: (wanted: number, narrow) => wanted === 0 || narrow.numbers(keyword).some((one) => one >= wanted),
  holds: (wanted: number, value) => size(value) >= wanted,
})
const most = (keyword: string, size: (value: never) => number): PlainRule => ({
  isImplied: (wanted: number, narrow) => narrow.numbers(keyword).some((one) => one <= wanted),
  holds: (wanted: number, value) => size(value) <= wanted,
})
const count = (value: object): number => Object.keys(value).length

/** How to find out whether a schema implies a keyword of another one. */
export const PLAIN: Readonly<Record<string, PlainRule>> = {
  minimum: {
    holds: (wanted: number, value: number) => value >= wanted,
    isImplied: (wanted: number, narrow) =>
      [...narrow.numbers('minimum'), ...narrow.numbers('exclusiveMinimum')].some((one) => one >= wanted),
  },
  exclusiveMinimum: {
    holds: (wanted: number, value: number) => value > wanted,
    isImplied: (wanted: number, narrow) => narrow.numbers('minimum').some((one) => one > wanted)
      || narrow.numbers('exclusiveMinimum').some((one) => one >= wanted),
  },
  maximum: {
    holds: (wanted: number, value: number) => value <= wanted,
    isImplied: (wanted: number, narrow) =>
      [...narrow.numbers('maximum'), ...narrow.numbers('exclusiveMaximum')].some((one) => one <= wanted),
  },
  exclusiveMaximum: {
    holds: (wanted: number, value: number) => value < wanted,
    isImplied: (wanted: number, narrow) => narrow.numbers('maximum').some((one) => one < wanted)
      || narrow.numbers('exclusiveMaximum').some((one) => one <= wanted),
  },
  multipleOf: {
    holds: (wanted: number, value: number) => isMultipleOf(value, wanted),
    isImplied: (wanted: number, narrow) =>
      [...narrow.numbers('multipleOf'), ...(narrow.types.has('number') ? [] : [1])]
        .some((one) => isMultipleOf(one, wanted)),
  },
  minLength: least('minLength', length),
  maxLength: most('maxLength', length),
  minItems: least('minItems', count),
  maxItems: most('maxItems', count),
  minProperties: least('minProperties', count),
  maxProperties: most('maxProperties', count),
  pattern: {
    holds: (wanted: string, value: string) => matches(wanted, value) === true,
    isImplied: (wanted: string, narrow) => narrow.settings('pattern').includes(wanted),
  },
  uniqueItems: {
    isImplied: (wanted: boolean, narrow) =>
      !wanted || narrow.maxItems <= 1 || narrow.settings('uniqueItems').includes(true),
    holds: (_: boolean, items: readonly Json[]) => new Set(items.map(canonicalJson)).size === items.length,
  },
}
