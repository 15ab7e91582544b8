import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ArgumentSchemas } from './argument-schemas.ts'
import { Unusable, type DescribedField } from './described.ts'
import { explodes, isQueryStyle } from './parameters.ts'

type Fields = Readonly<Record<string, DescribedField>>

/**
 * How the fields of a form are written, as far as the document states it. `form`: the schema of the body. Throws Unusable for what
 * could not be sent as stated: sent otherwise, it would be another request.
 */
export function readFields(encoding: Json | undefined, form: Json, schemas: ArgumentSchemas): Fields {
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
