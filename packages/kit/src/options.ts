import { pointerStep } from './json.ts'
import { meantNames, visibleText } from './text.ts'

/** The expected form of an option, for callers that are not type-checked. */
export interface OptionForm {
  readonly words: string
  wrongIn(value: unknown): WrongOption | undefined
}

/** An invalid part of an option. */
export interface WrongOption {
  /** '' for the whole option. */
  readonly at: string
  readonly found: unknown
  /** Of an unknown field: the nearest known one, as a sentence. */
  readonly unknown?: string
}

/** One form per option. */
export type OptionForms<Options> = { readonly [Name in keyof Options]-?: OptionForm }

const form = (words: string, fits: (value: unknown) => boolean): OptionForm =>
  ({ words, wrongIn: (value) => fits(value) ? undefined : { at: '', found: value } })

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A form that checks parts. Undefined parts are skipped. */
const partwise = <Whole>(
  words: string, isWhole: (value: unknown) => value is Whole, partsOf: (value: Whole) => Iterable<Part>,
): OptionForm => ({
  words,
  wrongIn(value) {
    if (!isWhole(value)) return { at: '', found: value }
    for (const [name, part, expected] of partsOf(value)) {
      const wrong = part === undefined ? undefined : expected.wrongIn(part)
      if (wrong) return { ...wrong, at: `${pointerStep(name)}${wrong.at}` }
    }
    return undefined
  },
})
type Part = readonly [name: string | number, value: unknown, expected: OptionForm]
type Fields = Readonly<Record<string, OptionForm>>

const fieldWords = (fields: Fields): string =>
  `an object with ${Object.entries(fields).map(([name, { words }]) => `${name} (${words})`).join(' and ')}`

const partsOf = (fields: Fields, value: Readonly<Record<string, unknown>>): readonly Part[] =>
  Object.entries(fields).map(([name, expected]) => [name, value[name], expected] as const)

const unknownField = (name: string, fields: Fields): OptionForm => ({
  words: 'absent',
  wrongIn: (found) => ({ at: '', found, unknown: meantNames(name, Object.keys(fields)) }),
})

/** Forms of options. */
export const forms = Object.freeze({
  text: form('a string', (value) => typeof value === 'string'),
  number: form('a number', (value) => typeof value === 'number' && !Number.isNaN(value)),
  flag: form('true or false', (value) => typeof value === 'boolean'),
  method: form('a function', (value) => typeof value === 'function'),
  signal: form('an AbortSignal', (value) =>
    isObject(value) && typeof value['aborted'] === 'boolean' && typeof value['addEventListener'] === 'function'),
  /** Checked elsewhere. */
  anything: form('anything', () => true),
  /** A whole number. */
  count: (least: number, most: number): OptionForm => form(`a whole number from ${least} to ${most}`, (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most),
  from: (least: number): OptionForm =>
    form(`a number from ${least}`, (value) => typeof value === 'number' && value >= least),
  above: (least: number): OptionForm =>
    form(`a number above ${least}`, (value) => typeof value === 'number' && value > least),
  oneOf: (...values: readonly (string | null)[]): OptionForm =>
    form(values.map((value) => JSON.stringify(value)).join(' or '), (value) => values.some((one) => one === value)),
  /** An object with these functions, own or inherited. */
  having: (...names: readonly string[]): OptionForm =>
    form(`an object with the function${names.length > 1 ? 's' : ''} ${names.join(', ')}`, (value) =>
      isObject(value) && names.every((name) => typeof value[name] === 'function')),
  object: form('an object', isObject),
  /** An object with these optional fields and no others. */
  fields: (fields: Fields): OptionForm => partwise(fieldWords(fields), isObject, (value) => [
    ...partsOf(fields, value),
    ...Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
      .map((name) => [name, value[name], unknownField(name, fields)] as const),
  ]),
  /** An object in which these fields are optional, such as an object of a class. */
  atLeast: (fields: Fields): OptionForm =>
    partwise(fieldWords(fields), isObject, (value) => partsOf(fields, value)),
  /** An object with all of these fields. */
  whole: (fields: Fields): OptionForm =>
    partwise(fieldWords(fields), isObject, (value) =>
      Object.entries(fields).map(([name, expected]) => [name, value[name] ?? null, expected] as const)),
  /** An object whose values have the same form. */
  values: (each: OptionForm): OptionForm =>
    partwise(`an object in which each value is ${each.words}`, isObject, (value) =>
      Object.entries(value).map(([name, part]) => [name, part, each] as const)),
  list: (each: OptionForm): OptionForm =>
    partwise(`a list in which each item is ${each.words}`, Array.isArray, (value) =>
      value.map((part, index) => [index, part ?? null, each] as const)),
  either: (one: OptionForm, other: OptionForm): OptionForm =>
    ({ words: `${one.words}, or ${other.words}`, wrongIn: (value) => one.wrongIn(value) && other.wrongIn(value) }),
})

/** Why options are rejected: a JSON Pointer to the invalid part, and a message. */
export interface OptionFault {
  readonly path: string
  readonly message: string
}

/**
 * The first invalid option of the function `called`. An undefined option counts as absent; options in `needed` are
 * required. An unknown name is a fault, because it would have no effect.
 */
export function findOptionFault<Options extends object>(
  called: string, options: Options, table: OptionForms<Options>, needed: readonly (keyof Options & string)[] = [],
): OptionFault | undefined {
  if (!isObject(options)) {
    return { path: '', message: `The options of ${called} cannot be ${inWords(options)}. Pass an object.` }
  }
  for (const name of Object.keys(table) as (keyof Options & string)[]) {
    const { words, wrongIn } = table[name]
    const value: unknown = options[name]
    if (value === undefined) {
      if (!needed.some((one) => one === name)) continue
      return { path: pointerStep(name), message: `${called} needs the option "${name}". Pass ${words}.` }
    }
    const wrong = wrongIn(value)
    if (!wrong) continue
    const { at, found, unknown } = wrong
    const path = `${pointerStep(name)}${at}`
    if (unknown !== undefined) {
      return { path, message: `${called} has no option "${visibleText(`${name}${at}`)}".${unknown}` }
    }
    const expected = at === '' ? words : `${words} as "${name}"`
    const message = `The option "${name}${at}" of ${called} cannot be ${inWords(found)}. Pass ${expected}.`
    return { path, message }
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name) || options[name] === undefined) continue
    const message = `${called} has no option "${visibleText(name)}".${meantNames(name, Object.keys(table))}`
    return { path: pointerStep(name), message }
  }
  return undefined
}

/** A string is not repeated, because it may be a misplaced secret. */
function inWords(value: unknown): string {
  if (typeof value === 'number') return `the number ${value}`
  if (value === null || value === undefined || typeof value === 'boolean') return String(value)
  return `this ${Array.isArray(value) ? 'list' : typeof value}`
}
