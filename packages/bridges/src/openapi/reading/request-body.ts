import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ArgumentSchemas } from './argument-schemas.ts'
import { type DescribedBody, type DescribedField, Unusable } from './api-description.ts'
import { type Argument, explodes, isQueryStyle, withDescription } from './parameters.ts'
import { followed } from './references.ts'

const FORMS: readonly (readonly [RegExp, DescribedBody['form'], sentAs?: string])[] = [
  [/^application\/json$/, 'json'], [/^[\w.-]+\/[\w.-]+\+json$/, 'json'], [/^(?:\*|application)\/\*$/, 'json', 'application/json'],
  [/^application\/x-www-form-urlencoded$/, 'urlencoded'], [/^text\/[\w.+-]+$/, 'text'],
]

/** The body of a request in the best of the forms it may have. Throws Unusable where none of them is offered here. */
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
    throw new Unusable('has a body in a form that is not offered: JSON, form fields or text')
  }
  const { form, mediaType, media } = best
  const told = schemas.of(media['schema'])
  const fields = form === 'urlencoded' ? readFields(media['encoding'], told, schemas) : {}
  return {
    sent: { argument: taken.has('body') ? '_request_body' : 'body', form, mediaType, fields },
    schema: withDescription(form === 'text' ? { type: 'string' } : told, description),
    required: required === true,
  }
}

type Fields = Readonly<Record<string, DescribedField>>

/**
 * How the fields of a form are written, as far as the document states it. `form`: the schema of the body. Throws Unusable for what
 * could not be sent as stated: sent otherwise, it would be another request.
 */
function readFields(encoding: Json | undefined, form: Json, schemas: ArgumentSchemas): Fields {
  const { type, properties } = schemas.resolved(form)
  if (type !== undefined && !isOf(type, 'object')) throw new Unusable('has a form for a body that is no object')
  const members = isJsonObject(properties) ? properties : {}
  return Object.fromEntries(Object.entries(isJsonObject(encoding) ? encoding : {}).flatMap(([name, written]) => {
    const refuse = (why: string) => new Unusable(`has a form field "${visibleText(name).slice(0, 64)}" ${why}`)
    const field = fieldOf(written, (Object.hasOwn(members, name) ? members[name] : undefined) ?? {}, schemas, refuse)
    return field === undefined ? [] : [[name, field]]
  }))
}

/** undefined for what is written as any field is. */
function fieldOf(written: Json, schema: Json, schemas: ArgumentSchemas, refuse: (why: string) => Unusable): DescribedField | undefined {
  if (!isJsonObject(written)) throw refuse('with an encoding that is no object')
  const { style, explode, allowReserved, contentType } = written
  // Where any of these is stated, the media type counts for nothing.
  if (style === undefined && explode === undefined && allowReserved === undefined) {
    return contentType === undefined ? undefined : ofMediaType(String(contentType), schemas.resolved(schema), refuse)
  }
  const named = style === undefined ? 'form' : String(style)
  if (!isQueryStyle(named)) throw refuse(`of the style "${visibleText(named).slice(0, 32)}", which is not offered`)
  if (named !== 'deepObject' && isNested(schemas.resolved(schema), schemas)) throw refuse(`that is nested, which the style "${named}" cannot write`)
  return { style: named, explode: explodes(named, explode), reserved: allowReserved === true }
}

function ofMediaType(stated: string, { type }: JsonObject, refuse: (why: string) => Unusable): DescribedField {
  const mediaTypes = stated.split(',').map((one) => one.replace(/;.*$/s, '').trim().toLowerCase())
  if (mediaTypes.some((one) => /^(?:application\/json|[\w.-]+\/[\w.-]+\+json)$/.test(one))) return { style: 'json' }
  const isText = mediaTypes.some((one) => /^text\/[\w.+*-]+$/.test(one)) && !isOf(type, 'object') && !isOf(type, 'array')
  if (isText) return { style: 'text' }
  throw refuse(`in the form "${visibleText(stated).slice(0, 64)}", which is not offered: JSON, or text for what is no object and no list`)
}

const isOf = (type: Json | undefined, kind: string): boolean => Array.isArray(type) ? type.includes(kind) : type === kind

/** Whether a list or an object certainly has lists or objects inside. */
function isNested({ items, properties, additionalProperties }: JsonObject, schemas: ArgumentSchemas): boolean {
  const inside = [items, additionalProperties, ...Object.values(isJsonObject(properties) ? properties : {})]
  return inside.some((one) => {
    const { type } = one === undefined ? {} as JsonObject : schemas.resolved(one)
    return type === 'object' || type === 'array'
  })
}
