import { isJsonObject, type Json, type JsonObject } from './json.ts'

/** A flat form, in the subset of JSON Schema that MCP defines for questions. */
export interface FormSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, FormField>>
  readonly required?: readonly string[]
}

/** One value, a choice (`enum` or `oneOf`), or several choices (`array` with `items`). */
export interface FormField {
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array'
  readonly title?: string
  readonly description?: string
  readonly default?: FormValue
  readonly enum?: readonly string[]
  /** Titles of `enum`, for older clients. */
  readonly enumNames?: readonly string[]
  readonly oneOf?: readonly FormChoice[]
  readonly items?: FormItems
  readonly format?: 'email' | 'uri' | 'date' | 'date-time'
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export type FormItems =
  | { readonly type: 'string'; readonly enum: readonly string[]; readonly anyOf?: never }
  | { readonly anyOf: readonly FormChoice[]; readonly enum?: never }

export interface FormChoice {
  readonly const: string
  readonly title: string
}

export type FormValue = string | number | boolean | readonly string[]
export type FormValues = Readonly<Record<string, FormValue>>

export interface FormOptions {
  /** Identifies the question in protocols that name questions. */
  readonly name?: string
}

const MAX_FIELDS = 32
const MAX_CHOICES = 100
const MAX_CHARS = 2_000
/** No leading underscore, so that no name is special in JavaScript. */
export const FIELD_NAME = /^[A-Za-z][\w-]{0,63}$/

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array'])
const FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time'])
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_CHARS
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)
const isList = (value: unknown, isEntry: (entry: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.length > 0 && value.length <= MAX_CHOICES && value.every(isEntry)
const isChoice = (value: unknown): boolean => {
  const { const: chosen, title, ...more } = isJsonObject(value) ? value : {}
  return isText(chosen) && isText(title) && Object.keys(more).length === 0
}
const isItems = (value: unknown): boolean => {
  const { type, enum: values, anyOf, ...more } = isJsonObject(value) ? value : {}
  if (Object.keys(more).length > 0) return false
  return type === undefined ? values === undefined && isList(anyOf, isChoice)
    : type === 'string' && anyOf === undefined && isList(values, isText)
}

const KEYWORDS: Readonly<Record<keyof FormField, (value: unknown) => boolean>> = {
  type: (value) => TYPES.has(value),
  title: isText,
  description: isText,
  default: (value) => isText(value) || isNumber(value) || typeof value === 'boolean' || isList(value, isText),
  enum: (value) => isList(value, isText),
  enumNames: (value) => isList(value, isText),
  oneOf: (value) => isList(value, isChoice),
  items: isItems,
  format: (value) => FORMATS.has(value),
  minLength: isNumber, maxLength: isNumber,
  minimum: isNumber, maximum: isNumber,
  minItems: isNumber, maxItems: isNumber,
}
const keywords = new Map(Object.entries(KEYWORDS))

/** Returns undefined for anything but a form. */
export function readFormSchema(given: Json | undefined): FormSchema | undefined {
  const { type, properties, required = [], ...more } = isJsonObject(given) ? given : {}
  if (type !== 'object' || !isJsonObject(properties) || Object.keys(more).length > 0) return undefined
  const fields = Object.entries(properties)
  if (fields.length === 0 || fields.length > MAX_FIELDS || !fields.every(([name, field]) => isField(name, field))) {
    return undefined
  }
  if (!Array.isArray(required) || !required.every((name) => Object.hasOwn(properties, String(name)))) return undefined
  return given as unknown as FormSchema
}

function isField(name: string, field: Json | undefined): boolean {
  if (!FIELD_NAME.test(name) || !isJsonObject(field) || field['type'] === undefined) return false
  if ((field['type'] === 'array') !== (field['items'] !== undefined)) return false
  return Object.entries(field).every(([key, value]) => keywords.get(key)?.(value) === true)
}

/** The values of a form that is filled in. Returns undefined if a value is missing or wrong. Drops unknown fields. */
export function readFormValues({ properties, required = [] }: FormSchema, given: JsonObject): JsonObject | undefined {
  const values = Object.entries(properties).filter(([name]) => Object.hasOwn(given, name) && given[name] !== null)
    .map(([name, field]) => ({ name, field, value: given[name] }))
  const names = new Set(values.map(({ name }) => name))
  if (!required.every((name) => names.has(name)) || !values.every(({ field, value }) => fits(field, value))) {
    return undefined
  }
  return Object.fromEntries(values.map(({ name, value }) => [name, value!]))
}

/** The choices of a field, with their titles. Returns undefined if any value is allowed. */
export function formChoices(field: FormField): readonly FormChoice[] | undefined {
  const { enum: values, anyOf } = field.items ?? { enum: field.enum, anyOf: field.oneOf }
  return anyOf ?? values?.map((value, index) => ({ const: value, title: field.enumNames?.[index] ?? value }))
}

function fits(field: FormField, value: unknown): boolean {
  const allowed = formChoices(field)?.map((choice) => choice.const)
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity } = field
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean'
    case 'number':
    case 'integer':
      return typeof value === 'number' && (field.type === 'number' || Number.isInteger(value))
        && value >= minimum && value <= maximum
    case 'string':
      return typeof value === 'string' && (allowed?.includes(value) ?? true)
        && value.length >= minLength && value.length <= maxLength
    case 'array': {
      const { minItems = 0, maxItems = Infinity } = field
      return Array.isArray(value) && value.length >= minItems && value.length <= maxItems
        && value.every((one) => allowed?.includes(one as string))
    }
  }
}
