import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'

const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}
const EVERYWHERE = ['title', 'description']

/** OpenAI's documented rules for strict schemas, written down a second time. One line for each violation. */
export function strictFaults(root: JsonObject): readonly string[] {
  const { $defs = {}, ...schema } = root
  const names = Object.keys($defs as JsonObject)
  const faults = (one: Json, at: string): readonly string[] => {
    if (!isJsonObject(one)) return [`${at} is not an object`]
    const keys = Object.keys(one)
    const only = (...allowed: readonly string[]): readonly string[] =>
      keys.filter((key) => !allowed.includes(key)).map((key) => `${at} has ${key}`)
    const { $ref, anyOf, type } = one
    if ($ref !== undefined) {
      const isKnown =
        $ref === '#' || names.some((name) => decodeURIComponent(String($ref)) === `#/$defs${pointerStep(name)}`)
      return [...only('$ref'), ...(isKnown ? [] : [`${at} refers to ${JSON.stringify($ref)}`])]
    }
    if (Array.isArray(anyOf)) {
      return [
        ...only('anyOf', ...EVERYWHERE),
        ...anyOf.flatMap((branch: Json, index) => faults(branch, `${at}/anyOf/${index}`)),
      ]
    }
    const known = typeof type === 'string' ? KEYWORDS[type] : undefined
    if (known === undefined) return [`${at} has no single type`]
    return [...only('type', 'enum', 'const', ...EVERYWHERE, ...known), ...valueFaults(one, at), ...childFaults(one, at)]
  }
  const childFaults = (one: JsonObject, at: string): readonly string[] => {
    if (one['type'] === 'array') return faults(one['items'] ?? null, `${at}/items`)
    if (one['type'] !== 'object') return []
    const properties = one['properties'] as JsonObject
    return [
      ...(one['additionalProperties'] === false ? [] : [`${at} is open`]),
      ...(String(one['required']) === String(Object.keys(properties)) ? [] : [`${at} does not require every property`]),
      ...Object.entries(properties).flatMap(([name, below]) => faults(below, `${at}/properties${pointerStep(name)}`)),
    ]
  }
  return [
    ...(schema['type'] === 'object' ? [] : ['the root is not an object']), ...faults(schema, ''),
    ...Object.entries($defs as JsonObject).flatMap(([name, one]) => faults(one, `/$defs${pointerStep(name)}`)),
  ]
}

function valueFaults({ enum: allowed, format, pattern }: JsonObject, at: string): readonly string[] {
  return [
    ...(allowed === undefined || (Array.isArray(allowed) && allowed.length > 0) ? [] : [`${at} has no values`]),
    ...(format === undefined || FORMATS.has(String(format)) ? [] : [`${at} has the format ${String(format)}`]),
    ...(typeof pattern === 'string' && pattern.includes('(?=') ? [`${at} looks ahead`] : []),
  ]
}
