import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { Unusable } from './api-description.ts'

const LONGEST_CHAIN = 16

/** Resolves references inside the document. Others are rejected. */
export function followed(root: JsonObject, value: Json | undefined): JsonObject {
  let found = value
  for (let steps = 0; steps < LONGEST_CHAIN; steps++) {
    if (!isJsonObject(found)) throw new Unusable('has a value that must be an object')
    const { $ref } = found
    if (typeof $ref !== 'string') return found
    found = pointedAt(root, $ref)
  }
  throw new Unusable('has a circular reference')
}

/** Reads own members only. */
export function pointedAt(root: JsonObject, reference: string): Json {
  const refuse = (why: string): Unusable => new Unusable(`refers to "${visibleText(reference).slice(0, 200)}", ${why}`)
  if (!reference.startsWith('#')) throw refuse('outside the document, which is not supported')
  const [anchor, ...steps] = reference.slice(1).split('/')
  const found = steps.reduce<Json | undefined>((value, step) => memberOf(value, decoded(step)), root)
  if (found === undefined || anchor !== '') throw refuse('which does not exist')
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
