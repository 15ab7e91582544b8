import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { DescribedField, DescribedParameter, QueryStyle } from '../reading/api-description.ts'

/** Why a value cannot be written as the document states, as the end of a sentence about the argument. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

/** A part of a value as a text. What has parts itself is written as JSON. */
const written = (value: Json): string => typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)

/** Everything but letters, digits and `-._~`: nothing else means the same wherever it stands. */
export const escaped = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** As it is, but for what would end the value or begin another: `&`, `=`, `#`, `+`, brackets. */
const reservedKept = (text: string): string => escaped(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, (one) => decodeURIComponent(one))

type Pair = readonly [name: string, value: string]

const pairText = (pairs: readonly Pair[]): string => pairs.map(([name, value]) => `${escaped(name)}=${value}`).join('&')

const DELIMITERS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const

/** One argument of a query, escaped. Empty where nothing is to be sent. */
export function queryPart({ name, style, explode, json, reserved }: DescribedParameter, value: Json): string {
  if (json) return pairText([[name, escaped(JSON.stringify(value))]])
  return pairText(styledPairs(name, value, { style: style === 'simple' ? 'form' : style, explode, reserved }))
}

interface Styled {
  readonly style: QueryStyle
  readonly explode: boolean
  readonly reserved: boolean
}

function styledPairs(name: string, value: Json, { style, explode, reserved }: Styled): readonly Pair[] {
  const escape = reserved ? reservedKept : escaped
  if (style === 'deepObject') return bracketed(name, value).map(([key, one]) => [key, escape(one)])
  if (Array.isArray(value)) {
    const values = (value as readonly Json[]).map((one) => escape(written(one)))
    if (values.length === 0) return []
    return explode ? values.map((one) => [name, one]) : [[name, values.join(DELIMITERS[style])]]
  }
  if (!isJsonObject(value)) return [[name, escape(written(value))]]
  const members = Object.entries(value).map(([key, one]) => [key, escape(written(one))] as const)
  if (explode) return members
  return members.length === 0 ? [] : [[name, members.flatMap(([key, one]) => [escape(key), one]).join(DELIMITERS[style])]]
}

/** Each value under the way to it: `a[b][0]`. What is null is left out. */
function bracketed(name: string, value: Json): readonly Pair[] {
  if (value === null) return []
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((one, index) => bracketed(`${name}[${index}]`, one))
  if (!isJsonObject(value)) return [[name, String(value)]]
  return Object.entries(value).flatMap(([key, one]) => {
    if (/[[\]]/.test(key)) throw new Unwritable(`has a member "${key}", whose brackets would make it another one`)
    return bracketed(`${name}[${key}]`, one)
  })
}

/** One argument of a path or a header. `write` says how a part of it is written there. */
export function simpleText({ explode, json }: DescribedParameter, value: Json, write: (text: string) => string): string {
  if (json) return write(JSON.stringify(value))
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => write(written(one))).join(',')
  if (!isJsonObject(value)) return write(written(value))
  return Object.entries(value).map(([key, one]) => `${write(key)}${explode ? '=' : ','}${write(written(one))}`).join(',')
}

/**
 * The fields of a form, each in the encoding that the document states. By default a list repeats its name and an object is JSON.
 * Throws Unwritable.
 */
export function formText(form: JsonObject, fields: Readonly<Record<string, DescribedField>>): string {
  const pairs = Object.entries(form).filter(([, value]) => value !== null)
    .flatMap(([name, value]) => fieldPairs(name, value, Object.hasOwn(fields, name) ? fields[name] : undefined))
  return pairText(pairs)
}

function fieldPairs(name: string, value: Json, field: DescribedField | undefined): readonly Pair[] {
  if (field === undefined) return styledPairs(name, isJsonObject(value) ? JSON.stringify(value) : value, { style: 'form', explode: true, reserved: false })
  switch (field.style) {
    case 'json':
      return [[name, escaped(JSON.stringify(value))]]
    case 'text':
      if (typeof value === 'object') throw new Unwritable(`has a field "${name}" that is sent as text, and is a list or an object`)
      return [[name, escaped(String(value))]]
    default:
      if (field.style !== 'deepObject' && hasParts(value)) throw new Unwritable(`has a field "${name}" that is nested deeper than its style "${field.style}" can write`)
      return styledPairs(name, value, field)
  }
}

/** Whether members of a list or an object are lists or objects themselves. */
const hasParts = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).some((one: Json) => typeof one === 'object' && one !== null)
