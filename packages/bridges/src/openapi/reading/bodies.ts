import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { mapSubschemas, propertiesOf } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import { type DescribedBody, type DescribedField, resolveReference, Unusable } from './api-description.ts'
import { type Argument, explodes, isQueryStyle, withDescription } from './arguments.ts'
import type { ArgumentSchemas } from './argument-schemas.ts'

/** The content of a file as an argument. A file of the workspace is never read: only what the caller gives is sent. */
const FILE_SCHEMA: JsonObject = {
  type: 'object', description: 'A file. Give its content either as `text` or as `base64`.',
  properties: {
    text: { type: 'string' }, base64: { type: 'string' },
    filename: { type: 'string', maxLength: 255 }, content_type: { type: 'string', maxLength: 127 },
  },
  additionalProperties: false,
}

const FORMS: readonly (readonly [RegExp, DescribedBody['form'], sentAs?: string])[] = [
  [/^application\/json$/, 'json'], [/^[\w.-]+\/[\w.-]+\+json$/, 'json'],
  [/^(?:\*|application)\/\*$/, 'json', 'application/json'],
  [/^application\/x-www-form-urlencoded$/, 'urlencoded'], [/^multipart\/form-data$/, 'multipart'],
  [/^text\/[\w.+-]+$/, 'text'], [/^text\/\*$/, 'text', 'text/plain'],
  [/^application\/(?:[\w.-]+\+xml|xml|x-ndjson|jsonl|(?:x-)?yaml|graphql|sql|javascript)$/, 'text'],
  [/^(?!multipart\/)[\w.-]+\/(?:[\w.+-]+|\*)$/, 'binary'],
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
    if (!pattern.test(bare) || !isJsonObject(media)) return []
    // A wildcard says nothing about the form of a file.
    const isFile = sentAs !== undefined && isFileSchema(resolvedIn(root, media['schema']))
    return [{ form: isFile ? 'binary' : form, mediaType: isFile ? bare : sentAs ?? bare, media }]
  }))
  if (best === undefined) {
    if (required !== true && offered.length === 0) return undefined
    throw new Unusable('has a body with an unsupported media type')
  }
  const { mediaType, media, form } = best
  const { schema, fields } = contentOf(form, media, schemas)
  return {
    sent: { argument: taken.has('body') ? '_request_body' : 'body', form, mediaType, fields },
    schema: withDescription(schema, description),
    required: required === true,
  }
}

interface Content {
  readonly schema: Json
  readonly fields: DescribedBody['fields']
}

function contentOf(form: DescribedBody['form'], media: JsonObject, schemas: ArgumentSchemas): Content {
  switch (form) {
    case 'json':
      return { schema: schemas.of(media['schema']), fields: {} }
    case 'urlencoded': {
      const schema = schemas.of(media['schema'])
      return { schema, fields: readFields(media['encoding'], schema, schemas) }
    }
    case 'multipart':
      return multipartOf(media, schemas)
    case 'text':
      return { schema: { type: 'string' }, fields: {} }
    case 'binary':
      return { schema: FILE_SCHEMA, fields: {} }
  }
}

const resolvedIn = (root: JsonObject, schema: Json | undefined): JsonObject =>
  isJsonObject(schema) ? resolveReference(root, schema) : {}

/** 3.0 marks a file by its format, 3.1 by its media type. Encoded content is text. */
function isFileSchema({ type, format, contentMediaType, contentEncoding }: JsonObject): boolean {
  if (type !== undefined && !isOf(type, 'string')) return false
  return contentEncoding === undefined && (format === 'binary' || typeof contentMediaType === 'string')
}

/**
 * The encoding of the fields of a form that have one. Throws Unusable for an encoding that is not supported: the server
 * would not read the request.
 */
function readFields(encoding: Json | undefined, form: Json, schemas: ArgumentSchemas): DescribedBody['fields'] {
  const schema = schemas.resolved(form)
  refuseOtherForms(schema)
  const members = propertiesOf(schema)
  return Object.fromEntries(Object.entries(isJsonObject(encoding) ? encoding : {}).flatMap(([name, written]) => {
    const field = fieldOf(written, (Object.hasOwn(members, name) ? members[name] : undefined) ?? {}, schemas, name)
    return field === undefined ? [] : [[name, field]]
  }))
}

type Refuse = (why: string) => Unusable

const refusalOf = (name: string): Refuse => (why) =>
  new Unusable(`has a form field "${visibleText(name).slice(0, 64)}" ${why}`)

/** Returns undefined for the default encoding. */
function fieldOf(written: Json, schema: Json, schemas: ArgumentSchemas, name: string): DescribedField | undefined {
  const refuse = refusalOf(name)
  if (!isJsonObject(written)) throw refuse('with an encoding that is not an object')
  // With a style, the media type is ignored.
  const styled = styledField(written, schemas.resolved(schema), schemas, refuse)
  if (styled !== undefined) return styled
  const { contentType } = written
  return contentType === undefined ? undefined : ofMediaType(String(contentType), schemas.resolved(schema), refuse)
}

function styledField(
  { style, explode, allowReserved }: JsonObject, schema: JsonObject, schemas: ArgumentSchemas, refuse: Refuse,
): DescribedField | undefined {
  if (style === undefined && explode === undefined && allowReserved === undefined) return undefined
  const named = style === undefined ? 'form' : String(style)
  if (!isQueryStyle(named)) throw refuse(`with the unsupported style "${visibleText(named).slice(0, 32)}"`)
  if (named !== 'deepObject' && isNested(schema, schemas)) {
    throw refuse(`that is nested, which the style "${named}" does not support`)
  }
  return { style: named, explode: explodes(named, explode), reserved: allowReserved === true }
}

const mediaTypesOf = (contentType: string): readonly string[] =>
  contentType.split(',').map((one) => one.replace(/;.*$/s, '').trim().toLowerCase())

const isJsonType = (mediaType: string): boolean => /^(?:application\/json|[\w.-]+\/[\w.-]+\+json)$/.test(mediaType)

function ofMediaType(contentType: string, { type }: JsonObject, refuse: Refuse): DescribedField {
  const mediaTypes = mediaTypesOf(contentType)
  if (mediaTypes.some(isJsonType)) return { style: 'json' }
  const isText = mediaTypes.some((one) => /^text\/[\w.+*-]+$/.test(one)) && !isOf(type, 'object')
    && !isOf(type, 'array')
  if (isText) return { style: 'text' }
  throw refuse(
    `with the unsupported media type "${visibleText(contentType).slice(0, 64)}"; use JSON, or text for plain values`,
  )
}

/** The parts of a multipart form: files by their schemas, others by `encoding`. */
function multipartOf({ schema: written, encoding }: JsonObject, schemas: ArgumentSchemas): Content {
  const fields = new Map<string, DescribedField>()
  const encodings = isJsonObject(encoding) ? encoding : {}
  const readPart = (name: string, member: Json): Json => {
    const own = Object.hasOwn(encodings, name) ? encodings[name] : undefined
    const { contentType, ...style } = isJsonObject(own) ? own : {} as JsonObject
    const [mediaType = ''] = typeof contentType === 'string' ? mediaTypesOf(contentType) : []
    const known = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? { mediaType } : {}
    const schema = schemas.resolved(member)
    const items = isOf(schema['type'], 'array') ? schemas.resolved(schema['items'] ?? {}) : undefined
    if (isFileSchema(schema) || (items !== undefined && isFileSchema(items))) {
      fields.set(name, { style: 'file', ...known })
      const { description } = schema
      const about = typeof description === 'string' ? { description: `${description}\n${FILE_HINT}` } : {}
      return items === undefined ? { ...FILE_SCHEMA, ...about } : { ...schema, items: FILE_SCHEMA }
    }
    const styled = styledField(style, schema, schemas, refusalOf(name))
    if (styled !== undefined) fields.set(name, styled)
    else if (isJsonType(mediaType)) fields.set(name, { style: 'json', ...known })
    else if (mediaType !== '' && items === undefined && !isOf(schema['type'], 'object')) {
      fields.set(name, { style: 'text', ...known })
    }
    return member
  }
  const schema = withMembers(schemas.of(written), schemas, readPart)
  return { schema, fields: Object.fromEntries(fields) }
}

const FILE_HINT = FILE_SCHEMA['description'] as string
const MOST_STEPS = 8

/** Replaces the members of an object, also in its alternatives. Definitions of the object are copied into it. */
function withMembers(
  form: Json, schemas: ArgumentSchemas, change: (name: string, member: Json) => Json, steps = 0,
): Json {
  if (!isJsonObject(form) || steps > MOST_STEPS) return form
  const schema = schemas.resolved(form)
  refuseOtherForms(schema)
  return mapSubschemas(schema, ({ keyword, key, schema: one }) => {
    if (keyword === 'properties') return change(String(key), one)
    return ['allOf', 'anyOf', 'oneOf'].includes(keyword) ? withMembers(one, schemas, change, steps + 1) : one
  })
}

function refuseOtherForms({ type }: JsonObject): void {
  if (type !== undefined && !isOf(type, 'object')) throw new Unusable('has a form whose schema is not an object')
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
