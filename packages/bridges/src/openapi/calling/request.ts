import { BulkheadError, type NetRequest } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type {
  DescribedBody, DescribedField, DescribedOperation, DescribedParameter, QueryStyle,
} from '../reading/api-description.ts'

export interface OutgoingRequest {
  readonly url: string
  readonly method: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: NonNullable<NetRequest['body']> | undefined
}

/** The HTTP request of a call. Throws InputInvalid for an argument that cannot be sent as described. */
export function requestOf(operation: DescribedOperation, base: string, args: JsonObject): OutgoingRequest {
  const { method, body: described } = operation
  const given = operation.parameters.flatMap((parameter): Given[] => {
    const value = valueOf(args, parameter.argument)
    // Models send null for omitted arguments.
    return value === undefined || (value === null && parameter.in !== 'path') ? [] : [{ parameter, value }]
  })
  const inPlace = (place: DescribedParameter['in']) => given.filter(({ parameter }) => parameter.in === place)
  const parts = inPlace('query')
    .map(({ parameter, value }) => writable(parameter.argument, () => queryPart(parameter, value)))
    .filter((part) => part !== '')
  const body = described === null ? undefined : valueOf(args, described.argument)
  return {
    url: `${base}${pathOf(operation.path, inPlace('path'))}${parts.length === 0 ? '' : `?${parts.join('&')}`}`,
    method,
    headers: new Map([
      ['accept', 'application/json, text/*;q=0.9, */*;q=0.5'],
      ...inPlace('header').map(
        ({ parameter, value }) => [parameter.name.toLowerCase(), headerText(parameter, value)] as const,
      ),
      ...(described !== null && body !== undefined ? [['content-type', described.mediaType] as const] : []),
    ]),
    body: described === null || body === undefined ? undefined : bodyText(described, body),
  }
}

interface Given {
  readonly parameter: DescribedParameter
  readonly value: Json
}

const valueOf = (args: JsonObject, name: string): Json | undefined => Object.hasOwn(args, name) ? args[name] : undefined

/** Keeps a value in its path segment: escapes it, and rejects `.` and `..`, which keep their meaning when escaped. */
function pathOf(template: string, given: readonly Given[]): string {
  const byName = new Map(given.map(({ parameter, value }) => [parameter.name, { parameter, value }]))
  return template.split('/').map((segment) => {
    const filled = segment.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const { parameter, value } = byName.get(name) ?? {}
      const text = parameter === undefined || value === undefined ? '' : simpleText(parameter, value, escaped)
      if (text === '') throw invalid(parameter?.argument ?? name, 'is part of the path and may not be empty')
      return text
    })
    const leadsAway = filled !== segment && /^\.{1,2}$/.test(filled)
    if (leadsAway) throw invalid(segment.replaceAll(/[{}]/g, ''), `may not be "${filled}", which would change the path`)
    return filled
  }).join('/')
}

function headerText(parameter: DescribedParameter, value: Json): string {
  const text = simpleText(parameter, value, (part) => part)
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text
  throw invalid(parameter.argument, 'is sent as a header and contains characters that are not allowed there')
}

function bodyText({ form, argument, fields }: DescribedBody, value: Json): string {
  switch (form) {
    case 'json':
      return JSON.stringify(value)
    case 'urlencoded':
      if (!isJsonObject(value)) throw invalid(argument, 'must be an object')
      return writable(argument, () => formText(value, fields))
    case 'text':
      if (typeof value !== 'string') throw invalid(argument, 'must be a string')
      return value
  }
}

function writable(argument: string, write: () => string): string {
  try {
    return write()
  } catch (error) {
    throw error instanceof Unwritable ? invalid(argument, error.message) : error
  }
}

const invalid = (argument: string, why: string): BulkheadError =>
  new BulkheadError('InputInvalid', `The argument "${argument}" ${why}. Nothing was sent.`, { data: { argument } })

/** A value cannot be serialized as the document requires. The message is the end of a sentence about the argument. */
class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

/** A member of a list or object as a string. Nested values become JSON. */
const written = (value: Json): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)

/** Escapes everything except letters, digits and `-._~`. */
const escaped = (text: string): string =>
  encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** Keeps reserved characters, except those that separate values: `&`, `=`, `#`, `+` and brackets. */
const reservedKept = (text: string): string =>
  escaped(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, (one) => decodeURIComponent(one))

type Pair = readonly [name: string, value: string]

const pairText = (pairs: readonly Pair[]): string => pairs.map(([name, value]) => `${escaped(name)}=${value}`).join('&')

const DELIMITERS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const

/** A query parameter, escaped. Empty if there is nothing to send. */
function queryPart({ name, style, explode, json, reserved }: DescribedParameter, value: Json): string {
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
  return members.length === 0
    ? []
    : [[name, members.flatMap(([key, one]) => [escape(key), one]).join(DELIMITERS[style])]]
}

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

/** A path or header parameter. `write` escapes one member. */
function simpleText({ explode, json }: DescribedParameter, value: Json, write: (text: string) => string): string {
  if (json) return write(JSON.stringify(value))
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => write(written(one))).join(',')
  if (!isJsonObject(value)) return write(written(value))
  return Object.entries(value).map(([key, one]) => `${write(key)}${explode ? '=' : ','}${write(written(one))}`)
    .join(',')
}

/**
 * The fields of a form, each in the encoding of the document. By default a list repeats its name, and an object is
 * JSON. Throws Unwritable.
 */
function formText(form: JsonObject, fields: Readonly<Record<string, DescribedField>>): string {
  const pairs = Object.entries(form).filter(([, value]) => value !== null)
    .flatMap(([name, value]) => fieldPairs(name, value, Object.hasOwn(fields, name) ? fields[name] : undefined))
  return pairText(pairs)
}

function fieldPairs(name: string, value: Json, field: DescribedField | undefined): readonly Pair[] {
  if (field === undefined) {
    return styledPairs(
      name, isJsonObject(value) ? JSON.stringify(value) : value, { style: 'form', explode: true, reserved: false },
    )
  }
  switch (field.style) {
    case 'json':
      return [[name, escaped(JSON.stringify(value))]]
    case 'text':
      if (typeof value === 'object') {
        throw new Unwritable(`has a field "${name}" that is a list or an object, but is sent as text`)
      }
      return [[name, escaped(String(value))]]
    default:
      if (field.style !== 'deepObject' && hasParts(value)) {
        throw new Unwritable(`has a field "${name}" that is nested too deeply for the style "${field.style}"`)
      }
      return styledPairs(name, value, field)
  }
}

/** Whether a list or an object contains lists or objects. */
const hasParts = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.values(value)
    .some((one: Json) => typeof one === 'object' && one !== null)
