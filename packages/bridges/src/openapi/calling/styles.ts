import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { DescribedParameter, QueryStyle } from '../reading/api-description.ts'

/** A value cannot be serialized as the document requires. The message is the end of a sentence about the argument. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

export type Escape = (text: string) => string

/** A member of a list or object as a string. Nested values become JSON. */
const written = (value: Json): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)

/** Escapes everything except letters, digits and `-._~`. */
export const escaped: Escape = (text) =>
  encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Keeps reserved characters, except those that separate values: `&`, `=`, `#`, `+` and brackets. What is escaped
 * already stays as it is, as in RFC 6570.
 */
const reservedKept: Escape = (text) =>
  escaped(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, (one) => decodeURIComponent(one))
    .replaceAll(/%25(?=[0-9A-Fa-f]{2})/g, '%')

export type Pair = readonly [name: string, value: string]

export const pairText = (pairs: readonly Pair[]): string =>
  pairs.map(([name, value]) => `${escaped(name)}=${value}`).join('&')

interface Delimiters {
  readonly form: string
  readonly spaceDelimited: string
  readonly pipeDelimited: string
}
const ESCAPED: Delimiters = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }
const PLAIN: Delimiters = { form: ',', spaceDelimited: ' ', pipeDelimited: '|' }

export interface Styled {
  readonly style: QueryStyle
  readonly explode: boolean
  readonly reserved: boolean
}

/** The pairs of a query, a cookie or a form. `plain` escapes nothing, for the parts of a multipart form. */
export function styledPairs(
  name: string, value: Json, { style, explode, reserved }: Styled, plain = false,
): readonly Pair[] {
  const escape: Escape = plain ? (text) => text : reserved ? reservedKept : escaped
  const delimiters = plain ? PLAIN : ESCAPED
  if (style === 'deepObject') return bracketed(name, value).map(([key, one]) => [key, escape(one)])
  if (Array.isArray(value)) {
    const values = (value as readonly Json[]).map((one) => escape(written(one)))
    if (values.length === 0) return []
    return explode ? values.map((one) => [name, one]) : [[name, values.join(delimiters[style])]]
  }
  if (!isJsonObject(value)) return [[name, escape(written(value))]]
  const members = membersOf(value, escape)
  if (explode) return Object.keys(value).map((key, index) => [key, members[index]![1]])
  return members.length === 0 ? [] : [[name, members.flat().join(delimiters[style])]]
}

const membersOf = (value: JsonObject, escape: Escape): readonly Pair[] =>
  Object.entries(value).map(([key, one]) => [escape(key), escape(written(one))])

/** One pair per value, named by its path: `a[b][0]`. Omits null. */
function bracketed(name: string, value: Json): readonly Pair[] {
  if (value === null) return []
  if (Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((one, index) => bracketed(`${name}[${index}]`, one))
  }
  if (!isJsonObject(value)) return [[name, String(value)]]
  return Object.entries(value).flatMap(([key, one]) => {
    if (/[[\]]/.test(key)) throw new Unwritable(`has a member "${key}" with brackets in its name, which cannot be sent`)
    return bracketed(`${name}[${key}]`, one)
  })
}

/** A header, or the value of a path in style `simple`. */
export function simpleText(
  { explode, json }: Pick<DescribedParameter, 'explode' | 'json'>, value: Json, escape: Escape,
): string {
  if (json) return escape(JSON.stringify(value))
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => escape(written(one))).join(',')
  if (!isJsonObject(value)) return escape(written(value))
  return membersOf(value, escape).map((pair) => pair.join(explode ? '=' : ',')).join(',')
}

/** The value of a path parameter, as in RFC 6570: `{x}`, `{.x}`, `{;x}`, each with `*` if it explodes. */
export function pathText(parameter: DescribedParameter, value: Json): string {
  const { style, explode, name, json } = parameter
  if (json || style === 'simple') return simpleText(parameter, value, escaped)
  const isLabel = style === 'label'
  const mark = isLabel ? '.' : ';'
  const isList = Array.isArray(value)
  if (explode && (isList || isJsonObject(value))) {
    const parts = isList
      ? (value as readonly Json[]).map((one) => escaped(written(one)))
        .map((text) => isLabel ? text : matrixText(name, text))
      : membersOf(value as JsonObject, escaped).map((pair) => pair.join('='))
    return parts.map((part) => mark + part).join('')
  }
  const text = simpleText({ explode: false, json: false }, value, escaped)
  return mark + (isLabel ? text : matrixText(name, text))
}

/** An empty value has no `=`. */
const matrixText = (name: string, text: string): string => text === '' ? escaped(name) : `${escaped(name)}=${text}`

/** Whether a list or an object contains lists or objects. */
export const hasParts = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.values(value)
    .some((one: Json) => typeof one === 'object' && one !== null)
