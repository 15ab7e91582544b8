import { messageOf } from '@bulkhead/kit/error-message'
import { findJsonFault, type Json, parseJson } from '@bulkhead/kit/json'
import { constructFromEvents, EVENT_ID, parseEvents, SCALAR_STYLE, type Event } from 'js-yaml'
import { Unusable } from './api-description.ts'
import { bundle } from './bundle.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-pool.ts'
import { readOperations } from './operations.ts'

/** In a thread of the pool. */
export function run({ wanted, ...files }: DocumentQuestion): DocumentAnswer {
  try {
    return { ok: true, api: readOperations(bundle(files, parseDocument), wanted) }
  } catch (error) {
    return { ok: false, message: error instanceof Unusable ? error.message : `could not be read: ${messageOf(error)}` }
  }
}

const LIMITS = { maxDepth: 64, maxNodes: 2_000_000, maxChars: 16 * 1024 * 1024 }
const MOST_ALIASES = 1000

/** Whether the text can only be JSON. */
const isJson = (text: string): boolean => /^\s*[{[]/.test(text)

/** Throws Unusable for text that is neither JSON nor YAML. A hostile document can make it slow. */
function parseDocument(text: string): Json {
  const json = parseJson(text, LIMITS)
  if (json.ok) return json.value
  if (isJson(text) || json.fault.code !== 'kind') throw new Unusable(json.fault.message)
  let value: unknown
  try {
    value = parseYaml(text)
  } catch (error) {
    throw new Unusable(`is neither JSON nor YAML: ${messageOf(error).slice(0, 200)}`)
  }
  const fault = findJsonFault(value, LIMITS)
  if (fault !== undefined) throw new Unusable(`has a value that ${fault.message}`)
  return value as Json
}

function parseYaml(text: string): unknown {
  const events = parseEvents(text, { maxDepth: LIMITS.maxDepth })
  keepKeysAsWritten(events)
  const documents = constructFromEvents(events, { source: text, maxAliases: MOST_ALIASES })
  if (documents.length > 1) throw new Error('it has several documents')
  return documents[0] ?? null
}

/** Keys are strings. As numbers, the version `1.10` would become `1.1`. */
function keepKeysAsWritten(events: readonly Event[]): void {
  /** For each open collection, how many nodes it has so far; only mappings have keys, at even places. */
  const open: { readonly isMapping: boolean; nodes: number }[] = []
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      open.pop()
      continue
    }
    const parent = open.at(-1)
    const isKey = parent !== undefined && parent.isMapping && parent.nodes++ % 2 === 0
    if (event.type === EVENT_ID.SCALAR) {
      // A quoted scalar without an escape is read as it stands.
      if (isKey && event.style === SCALAR_STYLE.PLAIN && event.fast) event.style = SCALAR_STYLE.SINGLE_QUOTED
    } else if (event.type !== EVENT_ID.ALIAS) {
      open.push({ isMapping: event.type === EVENT_ID.MAPPING, nodes: 0 })
    }
  }
}
