import { HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { withSubschemas } from '../../../connected/tool-schema.ts'

const KEYWORD = 'x-mcp-header'
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/**
 * What is wrong with the parameters that a tool wants sent as headers too. The protocol has such a tool left out by whoever speaks
 * HTTP: a value that is not what it looks like would be read by what stands on the way. For schemas whose depth is bounded.
 */
export function headerFault(inputSchema: Json | undefined): string | undefined {
  const names = new Set<string>()
  const faults: string[] = []
  /** `isParameter`: the value is found by names of properties alone. */
  const visit = (schema: JsonObject, isParameter: boolean): void => {
    const fault = Object.hasOwn(schema, KEYWORD) ? declarationFault(schema, isParameter, names) : undefined
    if (fault !== undefined) faults.push(fault)
    const { properties, ...rest } = schema
    const isReached = isParameter || schema === inputSchema
    for (const one of isJsonObject(properties) ? Object.values(properties) : []) if (isJsonObject(one)) visit(one, isReached)
    withSubschemas(rest, (below) => {
      visit(below, false)
      return below
    })
  }
  if (isJsonObject(inputSchema)) visit(inputSchema, false)
  return faults[0]
}

function declarationFault({ [KEYWORD]: name, type }: JsonObject, isParameter: boolean, names: Set<string>): string | undefined {
  if (!isParameter) return 'wants something sent as a header that is not one of its parameters'
  if (typeof name !== 'string' || !HEADER_NAME_PATTERN.test(name)) return 'wants a parameter sent as a header whose name is none'
  if (!TYPES.has(type)) return `wants a parameter sent as the header "${name}" that is no string, integer or boolean`
  if (names.has(name.toLowerCase())) return `wants two parameters sent as the header "${name}"`
  names.add(name.toLowerCase())
  return undefined
}
