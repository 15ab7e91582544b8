import { isJsonObject, type Json, type JsonObject } from '@bulkhead/contract/plain'

/** What a reference such as `#` or `#/$defs/city` points at inside its schema, or undefined. */
export function resolveLocal(root: JsonObject, reference: string): Json | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let target: Json | undefined = root
  for (const step of reference.slice(2).split('/')) {
    const key = decodeStep(step)
    if (key === undefined) return undefined
    if (isJsonObject(target) && Object.hasOwn(target, key)) target = target[key]
    else if (Array.isArray(target) && /^(?:0|[1-9]\d*)$/.test(key)) target = (target as readonly Json[])[Number(key)]
    else return undefined
  }
  return target
}

function decodeStep(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
