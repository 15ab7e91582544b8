import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { UsageError } from '../command.ts'

/** For commands that start an extension to test it. */
export const CONFIG_OPTION = {
  type: 'string', value: 'JSON',
  text: 'configuration to start it with; must match its configSchema (default: {})',
} as const

export function readConfig(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  const parsed = parseJson(text)
  if (!parsed.ok) throw new UsageError(`--config ${parsed.fault.message}.`)
  if (!isJsonObject(parsed.value)) throw new UsageError('--config must be a JSON object.')
  return parsed.value
}
