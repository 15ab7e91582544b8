import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { Unusable } from './api-description.ts'

const LONGEST_CHAIN = 16

/** What a document says, or refers to. References are followed inside the document and nowhere else. */
export function followed(root: JsonObject, value: Json | undefined): JsonObject {
  let found = value
  for (let steps = 0; steps < LONGEST_CHAIN; steps++) {
    if (!isJsonObject(found)) throw new Unusable('has something else where an object belongs')
    const { $ref } = found
    if (typeof $ref !== 'string') return found
    found = pointedAt(root, $ref)
  }
  throw new Unusable('refers to itself without end')
}

/** Contract: reads own members only. */
export function pointedAt(root: JsonObject, reference: string): Json {
  const refuse = (why: string): Unusable => new Unusable(`refers to "${visibleText(reference).slice(0, 200)}", ${why}`)
  if (!reference.startsWith('#')) throw refuse('outside of the document, which is never fetched')
  const [anchor, ...steps] = reference.slice(1).split('/')
  const found = steps.reduce<Json | undefined>((value, step) => memberOf(value, decoded(step)), root)
  if (found === undefined || anchor !== '') throw refuse('which is not there')
  return found
}

function memberOf(value: Json | undefined, key: string | undefined): Json | undefined {
  if (key === undefined) return undefined
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(key) ? (value as readonly Json[])[Number(key)] : undefined
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function decoded(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
