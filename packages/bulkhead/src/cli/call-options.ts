import { SECURITY_MODES, type SecurityMode } from '@bulkhead/contract'
import { parseJson, type Json } from '@bulkhead/kit/json'
import { UsageError } from './usage-error.ts'

export function readArguments(text = '{}'): Json {
  const parsed = parseJson(text)
  if (!parsed.ok) throw new UsageError(`--args ${parsed.fault.path === '' ? '' : `at ${parsed.fault.path} `}${parsed.fault.message}.`)
  return parsed.value
}

export function readMode(text: string | undefined): SecurityMode | undefined {
  const mode = SECURITY_MODES.find((known) => known === text)
  if (text !== undefined && mode === undefined) throw new UsageError(`--mode must be one of ${SECURITY_MODES.join(', ')}, not "${text}".`)
  return mode
}
