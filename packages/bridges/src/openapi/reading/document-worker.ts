// The thread that parses a third-party document. `readDocument` ends it after a timeout.
import { parentPort } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { findJsonFault, type Json, parseJson } from '@bulkhead/kit/json'
import * as yaml from 'yaml'
import { Unusable } from './api-description.ts'
import { bundle } from './bundle.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-thread.ts'
import { readOperations } from './operations.ts'

export function run(question: DocumentQuestion): void {
  process.permission.drop('fs')
  parentPort?.postMessage(answer(question))
}

/** Exported so that tests can call it without a thread. */
export function answer({ wanted, ...files }: DocumentQuestion): DocumentAnswer {
  try {
    return { ok: true, api: readOperations(bundle(files, parseDocument), wanted) }
  } catch (error) {
    return { ok: false, message: error instanceof Unusable ? error.message : `could not be read: ${messageOf(error)}` }
  }
}

const LIMITS = { maxDepth: 64, maxNodes: 2_000_000, maxChars: 16 * 1024 * 1024 }
/** Limit for the uses of one YAML anchor. */
const MOST_ALIASES = 100

/** A lower log level would hide errors. */
const YAML_1_2 = { schema: 'core', stringKeys: true, logLevel: 'error', prettyErrors: false } as const

/** Whether the text can only be JSON. */
const isJson = (text: string): boolean => /^\s*[{[]/.test(text)

/** Throws Unusable for text that is neither JSON nor YAML. A hostile document can make it slow. */
function parseDocument(text: string): Json {
  const json = parseJson(text, LIMITS)
  if (json.ok) return json.value
  if (isJson(text) || json.fault.code !== 'kind') throw new Unusable(json.fault.message)
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
