import { HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import {
  type DescribedBody, type DescribedField, type DescribedParameter, resolveReference, type QueryStyle, Unusable,
} from './api-description.ts'
import type { ArgumentSchemas } from './argument-schemas.ts'

/** An argument of a tool: how it is sent, and its schema. */
interface Argument<Sent> {
  readonly sent: Sent
  readonly schema: Json
  readonly required: boolean
}

const MOST = 128
const STYLES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['path', new Set(['simple'])], ['header', new Set(['simple'])],
  ['query', new Set<QueryStyle>(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'])],
])
/** Headers that the specification excludes, and headers of the connection. */
const NO_PARAMETERS: ReadonlySet<string> = new Set([
  'accept', 'content-type', 'authorization', 'host', 'connection', 'content-length', 'transfer-encoding', 'cookie',
])

/** The parameters of the path and of the operation, which take precedence. Throws Unusable for unsupported ones. */
export function readParameters(
  root: JsonObject, lists: readonly (Json | undefined)[], schemas: ArgumentSchemas,
): readonly Argument<DescribedParameter>[] {
  const found = new Map<string, JsonObject>()
  for (const list of lists) {
    if (list === undefined) continue
    if (!Array.isArray(list)) throw new Unusable('has parameters that are not a list')
    for (const one of list as readonly Json[]) {
      const parameter = resolveReference(root, one)
      found.set(`${String(parameter['in'])} ${String(parameter['name'])}`, parameter)
    }
  }
  if (found.size > MOST) throw new Unusable(`has more than ${MOST} parameters`)
  const taken = new Set<string>()
  return [...found.values()].flatMap((parameter) => readParameter(parameter, schemas, taken) ?? [])
}

function readParameter(
  parameter: JsonObject, schemas: ArgumentSchemas, taken: Set<string>,
): Argument<DescribedParameter> | undefined {
  const { name, in: place, required, description } = parameter
  if (typeof name !== 'string' || name === '' || typeof place !== 'string') {
    throw new Unusable('has a parameter without "name" or "in"')
  }
  if (place === 'header' && NO_PARAMETERS.has(name.toLowerCase())) return undefined
  if (place === 'header' && !HEADER_NAME_PATTERN.test(name)) throw new Unusable('has a header with an invalid name')
  if (!STYLES.has(place)) {
    if (place !== 'cookie') throw new Unusable(`has a parameter with the invalid place "${place.slice(0, 32)}"`)
    if (required === true) throw new Unusable('requires a cookie, and cookies are not supported')
    return undefined
  }
  const { style, explode, json, reserved, schema } = formOf(parameter, place)
  const argument = argumentName(name, place, taken)
  return {
    sent: { argument, name, in: place as DescribedParameter['in'], style, explode, json, reserved },
    schema: withDescription(schemas.of(schema), description),
    required: place === 'path' || required === true,
  }
}

function withDescription(schema: Json, description: Json | undefined): Json {
  const isMissing = isJsonObject(schema) && schema['description'] === undefined
  return isMissing && typeof description === 'string' ? { ...schema, description } : schema
}

interface WrittenForm extends Pick<DescribedParameter, 'style' | 'explode' | 'json' | 'reserved'> {
  readonly schema: Json | undefined
}

function formOf({ content, schema, style = '', explode, allowReserved }: JsonObject, place: string): WrittenForm {
  if (isJsonObject(content)) {
    const [mediaType = '', media] = Object.entries(content)[0] ?? []
    if (!/[/+]json$/.test(mediaType) || !isJsonObject(media)) {
      throw new Unusable('has a parameter with an unsupported media type')
    }
    return { style: 'simple', explode: false, json: true, reserved: false, schema: media['schema'] }
  }
  const named = String(style) || (place === 'query' ? 'form' : 'simple')
  if (!STYLES.get(place)!.has(named)) {
    throw new Unusable(`has a parameter with the unsupported style "${named.slice(0, 32)}"`)
  }
  return {
    style: named as WrittenForm['style'], explode: explodes(named, explode), json: false,
    reserved: place === 'query' && allowReserved === true, schema,
  }
}

const isQueryStyle = (style: string): style is QueryStyle => STYLES.get('query')!.has(style)

/** The given value, or the default of the style. */
const explodes = (style: string, written: Json | undefined): boolean =>
  written === undefined ? style === 'form' : written === true

/** Uses only characters that every model API accepts. A duplicate name gets its place as a prefix. */
function argumentName(name: string, place: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 56)
  const found = [plain, `${place}_${plain}`].find((one) => !taken.has(one) && one !== '__proto__')
  if (found === undefined) throw new Unusable(`has two arguments with the name "${plain}"`)
  taken.add(found)
  return found
}

const FORMS: readonly (readonly [RegExp, DescribedBody['form'], sentAs?: string])[] = [
  [/^application\/json$/, 'json'], [/^[\w.-]+\/[\w.-]+\+json$/, 'json'],
  [/^(?:\*|application)\/\*$/, 'json', 'application/json'],
  [/^application\/x-www-form-urlencoded$/, 'urlencoded'], [/^text\/[\w.+-]+$/, 'text'],
]

/** The body of a request, in the preferred media type. Throws Unusable if none is supported. */
export function readBody(
  root: JsonObject, written: Json | undefined, schemas: ArgumentSchemas, taken: ReadonlySet<string>,
): Argument<DescribedBody> | undefined {
  if (written === undefined) return undefined
  const { content, required, description } = resolveReference(root, written)
  const offered = isJsonObject(content) ? Object.entries(content) : []
  const [best] = FORMS.flatMap(([pattern, form, sentAs]) => offered.flatMap(([mediaType, media]) => {
    const bare = mediaType.replace(/;.*$/s, '').trim().toLowerCase()
    return pattern.test(bare) && isJsonObject(media) ? [{ form, mediaType: sentAs ?? bare, media }] : []
  }))
  if (best === undefined) {
    if (required !== true && offered.length === 0) return undefined
    throw new Unusable('has a body with an unsupported media type; supported are JSON, form fields and text')
  }
  const { form, mediaType, media } = best
  const schema = schemas.of(media['schema'])
  const fields = form === 'urlencoded' ? readFields(media['encoding'], schema, schemas) : {}
  return {
    sent: { argument: taken.has('body') ? '_request_body' : 'body', form, mediaType, fields },
    schema: withDescription(form === 'text' ? { type: 'string' } : schema, description),
    required: required === true,
  }
}

type Fields = Readonly<Record<string, DescribedField>>

/**
 * The encodings of form fields in the document. `form` is the schema of the body. Throws Unusable for an unsupported
 * encoding, because the server could not read the request.
 */
function readFields(encoding: Json | undefined, form: Json, schemas: ArgumentSchemas): Fields {
  const { type, properties } = schemas.resolved(form)
  if (type !== undefined && !isOf(type, 'object')) throw new Unusable('has a form whose schema is not an object')
  const members = isJsonObject(properties) ? properties : {}
  return Object.fromEntries(Object.entries(isJsonObject(encoding) ? encoding : {}).flatMap(([name, written]) => {
    const refuse = (why: string) => new Unusable(`has a form field "${visibleText(name).slice(0, 64)}" ${why}`)
    const field = fieldOf(written, (Object.hasOwn(members, name) ? members[name] : undefined) ?? {}, schemas, refuse)
    return field === undefined ? [] : [[name, field]]
  }))
}

/** Returns undefined for the default encoding. */
function fieldOf(
  written: Json, schema: Json, schemas: ArgumentSchemas, refuse: (why: string) => Unusable,
): DescribedField | undefined {
  if (!isJsonObject(written)) throw refuse('with an encoding that is not an object')
  const { style, explode, allowReserved, contentType } = written
  // With any of these, the media type is ignored.
  if (style === undefined && explode === undefined && allowReserved === undefined) {
    return contentType === undefined ? undefined : ofMediaType(String(contentType), schemas.resolved(schema), refuse)
  }
  const named = style === undefined ? 'form' : String(style)
  if (!isQueryStyle(named)) throw refuse(`with the unsupported style "${visibleText(named).slice(0, 32)}"`)
  if (named !== 'deepObject' && isNested(schemas.resolved(schema), schemas)) {
    throw refuse(`that is nested, which the style "${named}" does not support`)
  }
  return { style: named, explode: explodes(named, explode), reserved: allowReserved === true }
}

function ofMediaType(contentType: string, { type }: JsonObject, refuse: (why: string) => Unusable): DescribedField {
  const mediaTypes = contentType.split(',').map((one) => one.replace(/;.*$/s, '').trim().toLowerCase())
  if (mediaTypes.some((one) => /^(?:application\/json|[\w.-]+\/[\w.-]+\+json)$/.test(one))) return { style: 'json' }
  const isText = mediaTypes.some((one) => /^text\/[\w.+*-]+$/.test(one)) && !isOf(type, 'object')
    && !isOf(type, 'array')
  if (isText) return { style: 'text' }
  throw refuse(
    `with the unsupported media type "${visibleText(contentType).slice(0, 64)}"; use JSON, or text for plain values`,
  )
}

const isOf = (type: Json | undefined, kind: string): boolean =>
  Array.isArray(type) ? type.includes(kind) : type === kind

/** Whether a list or an object contains lists or objects, as far as its schema tells. */
function isNested({ items, properties, additionalProperties }: JsonObject, schemas: ArgumentSchemas): boolean {
  const inside = [items, additionalProperties, ...Object.values(isJsonObject(properties) ? properties : {})]
  return inside.some((one) => {
    const { type } = one === undefined ? {} as JsonObject : schemas.resolved(one)
    return type === 'object' || type === 'array'
  })
}
