import { messageOf } from '@bulkhead/kit/error-message'
import { findJsonFault, parseJson, type Json } from '@bulkhead/kit/json'
import { Unusable } from './described.ts'

const LIMITS = { maxDepth: 64, maxNodes: 2_000_000, maxChars: 16 * 1024 * 1024 }
/** Of one anchor of YAML: how often it may stand for something. */
const MOST_ALIASES = 100

/** Quieter than that, its faults would be swallowed. */
const YAML_1_2 = { schema: 'core', stringKeys: true, logLevel: 'error', prettyErrors: false } as const

/** Whether it is JSON or nothing. */
export const isJson = (text: string): boolean => /^\s*[{[]/.test(text)

/**
 * Throws Unusable for what is neither JSON nor YAML. Takes long where a stranger wants it to: not for the host's own thread.
 * `yaml` is needed for what is not JSON.
 */
export function parseDocument(text: string, yaml?: typeof import('yaml')): Json {
  const json = parseJson(text, LIMITS)
  if (json.ok) return json.value
  if (yaml === undefined || json.fault.code !== 'kind') throw new Unusable(json.fault.message)
  let value: unknown
  try {
    value = yaml.parse(text, { ...YAML_1_2, maxAliasCount: MOST_ALIASES })
  } catch (error) {
    throw new Unusable(`is neither JSON nor YAML: ${messageOf(error).slice(0, 200)}`)
  }
  const fault = findJsonFault(value, LIMITS)
  if (fault !== undefined) throw new Unusable(`has a value that ${fault.message}`)
  return value as Json
}
