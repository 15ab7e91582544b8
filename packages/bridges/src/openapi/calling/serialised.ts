import { isJsonObject, type Json } from '@bulkhead/contract'
import type { DescribedParameter } from '../reading/described.ts'

/** A part of a value as a text. What has parts itself is written as JSON. */
const written = (value: Json): string => typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)

/** Everything but letters, digits and `-._~`: nothing else means the same wherever it stands. */
export const escaped = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const DELIMITERS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', simple: ',', deepObject: ',' } as const

/** One argument of a query, escaped. Empty where nothing is to be sent. */
export function queryPart({ name, style, explode, json }: DescribedParameter, value: Json): string {
  const pair = (key: string, one: string): string => `${escaped(key)}=${one}`
  if (json) return pair(name, escaped(JSON.stringify(value)))
  if (Array.isArray(value)) {
    const values = (value as readonly Json[]).map((one) => escaped(written(one)))
    if (values.length === 0) return ''
    return explode ? values.map((one) => pair(name, one)).join('&') : pair(name, values.join(DELIMITERS[style]))
  }
  if (!isJsonObject(value)) return pair(name, escaped(written(value)))
  const members = Object.entries(value).map(([key, one]) => [key, escaped(written(one))] as const)
  if (style === 'deepObject') return members.map(([key, one]) => pair(`${name}[${key}]`, one)).join('&')
  if (explode) return members.map(([key, one]) => pair(key, one)).join('&')
  return members.length === 0 ? '' : pair(name, members.flatMap(([key, one]) => [escaped(key), one]).join(DELIMITERS[style]))
}

/** One argument of a path or a header. `write` says how a part of it is written there. */
export function simpleText({ explode, json }: DescribedParameter, value: Json, write: (text: string) => string): string {
  if (json) return write(JSON.stringify(value))
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => write(written(one))).join(',')
  if (!isJsonObject(value)) return write(written(value))
  return Object.entries(value).map(([key, one]) => `${write(key)}${explode ? '=' : ','}${write(written(one))}`).join(',')
}

/** The fields of a form, lists by repeating their name. */
export function formText(value: Json): string {
  const field: Pick<DescribedParameter, 'style' | 'explode' | 'json'> = { style: 'form', explode: true, json: false }
  const members = isJsonObject(value) ? Object.entries(value).filter(([, one]) => one !== null) : []
  const parts = members.map(([name, one]) =>
    queryPart({ ...field, name, argument: name, in: 'query' }, isJsonObject(one) ? JSON.stringify(one) : one))
  return parts.filter((part) => part !== '').join('&')
}
