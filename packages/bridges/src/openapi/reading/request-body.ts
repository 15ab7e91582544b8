import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ArgumentSchemas } from './argument-schemas.ts'
import { type DescribedBody, type DescribedField, Unusable } from './api-description.ts'
import { type Argument, explodes, isQueryStyle, withDescription } from './parameters.ts'
import { followed } from './references.ts'

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
  const { content, required, description } = followed(root, written)
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

function ofMediaType(stated: string, { type }: JsonObject, refuse: (why: string) => Unusable): DescribedField {
  const mediaTypes = stated.split(',').map((one) => one.replace(/;.*$/s, '').trim().toLowerCase())
  if (mediaTypes.some((one) => /^(?:application\/json|[\w.-]+\/[\w.-]+\+json)$/.test(one))) return { style: 'json' }
  const isText = mediaTypes.some((one) => /^text\/[\w.+*-]+$/.test(one)) && !isOf(type, 'object')
    && !isOf(type, 'array')
  if (isText) return { style: 'text' }
  throw refuse(
    `with the unsupported media type "${visibleText(stated).slice(0, 64)}"; use JSON, or text for plain values`,
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
