import { CONFIG_FILE, isJsonObject, type ErrorCode, type JsonObject } from '@bulkhead/contract'
import { readRegularFile, type ReadOptions } from '../files/read-file.ts'
import { parseStrictJson } from '../json/strict-json.ts'
import type { Fault } from '../result.ts'

export interface WrittenConfig {
  readonly value: JsonObject
  readonly faults: readonly Fault[]
}

/** A configuration file as data. A file that is not there says nothing; one that cannot be read is reported and says nothing. */
export function readConfigFile(path: string, options: ReadOptions): WrittenConfig {
  const file = readRegularFile(path, options)
  if (!file.ok) return { value: {}, faults: file.problem === 'missing' ? [] : [invalid('', `${CONFIG_FILE} ${file.message}.`)] }
  const parsed = parseStrictJson(file.bytes)
  if (!parsed.ok) {
    const code = parsed.duplicateKey ? 'DuplicateJsonKey' : 'ConfigInvalid'
    return { value: {}, faults: [invalid(parsed.path, `${CONFIG_FILE} ${parsed.message}.`, code)] }
  }
  if (!isJsonObject(parsed.value)) return { value: {}, faults: [invalid('', `${CONFIG_FILE} must hold an object.`)] }
  return { value: parsed.value, faults: [] }
}

const invalid = (path: string, message: string, code: ErrorCode = 'ConfigInvalid'): Fault =>
  ({ stage: 'configSchema', code, path, message })
