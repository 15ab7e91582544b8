import { CONFIG_FILE, type ErrorCode } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { sha512 } from '../model/digest.ts'
import { readRegularFile, type ReadOptions } from '../files/read-file.ts'
import { parseStrictJson } from '../files/strict-json.ts'
import type { Fault } from '../model/result.ts'
import { TOOLS_OFF } from './strictest-values.ts'

export interface WrittenConfig {
  readonly value: JsonObject
  readonly faults: readonly Fault[]
  /** Of the bytes of the file; null where there is none, or none that can be read. */
  readonly digest: string | null
}

const UNTIL_THEN = 'Until it can be read its rules are not known, so tools are switched off.'

/** A configuration file as data. One that is not there says nothing. */
export function readConfigFile(path: string, options: ReadOptions): WrittenConfig {
  const file = readRegularFile(path, options)
  if (!file.ok) return file.problem === 'missing' ? { value: {}, faults: [], digest: null } : unreadable(CONFIG_FILE, null, '', file.message)
  const digest = sha512(file.bytes)
  const parsed = parseStrictJson(file.bytes)
  if (!parsed.ok) return unreadable(CONFIG_FILE, digest, parsed.path, parsed.message, parsed.duplicateKey ? 'DuplicateJsonKey' : 'ConfigInvalid')
  return isJsonObject(parsed.value) ? { value: parsed.value, faults: [], digest } : unreadable(CONFIG_FILE, digest, '', 'must hold an object')
}

export const unreadable = (
  name: string, digest: string | null, path: string, what: string, code: ErrorCode = 'ConfigInvalid',
): WrittenConfig => ({
  value: TOOLS_OFF,
  digest,
  faults: [{ stage: 'configSchema', code, path, message: `${name} ${what}. ${UNTIL_THEN}` }],
})
