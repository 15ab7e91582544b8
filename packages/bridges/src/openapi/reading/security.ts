import { HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { type DescribedScheme, resolveReference, Unusable } from './api-description.ts'

const MOST_SCHEMES = 64
const MOST_ALTERNATIVES = 16

/** The security schemes of a document that can be used. */
export function readSchemes(root: JsonObject): readonly DescribedScheme[] {
  const { components } = root
  const schemes = isJsonObject(components) ? components['securitySchemes'] : undefined
  return Object.entries(isJsonObject(schemes) ? schemes : {}).slice(0, MOST_SCHEMES)
    .flatMap(([name, written]) => schemeOf(root, name, written) ?? [])
}

function schemeOf(root: JsonObject, name: string, written: Json): DescribedScheme | undefined {
  const scheme = resolvedOrEmpty(root, written)
  switch (scheme['type']) {
    case 'http': {
      const kind = String(scheme['scheme']).toLowerCase()
      return kind === 'basic' || kind === 'bearer' ? { name, kind } : undefined
    }
    case 'apiKey': {
      const { in: place, name: parameter } = scheme
      if (typeof parameter !== 'string' || parameter === '' || parameter.length > 128) return undefined
      if (place === 'query') return { name, kind: 'apiKey', in: place, parameter }
      const isPlace = place === 'header' || place === 'cookie'
      return isPlace && HEADER_NAME_PATTERN.test(parameter) ? { name, kind: 'apiKey', in: place, parameter } : undefined
    }
    case 'oauth2': {
      const { flows } = scheme
      const flow = isJsonObject(flows) ? flows['clientCredentials'] : undefined
      const tokenUrl = isJsonObject(flow) ? flow['tokenUrl'] : undefined
      return { name, kind: 'oauth2', ...(typeof tokenUrl === 'string' && { tokenUrl: tokenUrl.slice(0, 2_048) }) }
    }
    // A token of another flow.
    case 'openIdConnect':
      return { name, kind: 'bearer' }
    default:
      return undefined
  }
}

function resolvedOrEmpty(root: JsonObject, written: Json): JsonObject {
  try {
    return resolveReference(root, written)
  } catch (error) {
    if (error instanceof Unusable) return {}
    throw error
  }
}

/** The alternatives that authorise an operation, each a list of schemes. Empty: it needs none. */
export function readSecurity(root: JsonObject, operation: JsonObject): readonly (readonly string[])[] {
  const written = operation['security'] ?? root['security']
  const alternatives = Array.isArray(written) ? (written as readonly Json[]).slice(0, MOST_ALTERNATIVES) : []
  const names = alternatives.filter(isJsonObject).map((one) => Object.keys(one).slice(0, MOST_ALTERNATIVES))
  // An empty alternative means that credentials are optional; they are sent if there are any.
  return names.filter((one) => one.length > 0)
}
