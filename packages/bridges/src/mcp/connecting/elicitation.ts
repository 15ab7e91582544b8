import { AsyncLocalStorage } from 'node:async_hooks'
import {
  BulkheadError, isJsonObject, visibleText, type Interact, type InteractionOption, type Json, type JsonObject,
} from '@bulkhead/contract'

/** What a server asks a person for, and what it is told. */
export interface ElicitationRequest {
  readonly mode?: string | undefined
  readonly message: string
  readonly requestedSchema?: unknown
}
export interface ElicitationResult {
  [key: string]: unknown
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

const DECLINED: ElicitationResult = { action: 'decline' }
const MOST_FIELDS = 16

/**
 * Whom the questions of a server go to: the person of the call it asks for. Where a server asks past any call, that is the only
 * one that runs; with several, or none, nobody knows who is meant, and it is declined.
 */
export class Elicitation {
  readonly #current = new AsyncLocalStorage<Interact>()
  readonly #running = new Set<{ readonly interact: Interact | undefined }>()

  async during<Value>(interact: Interact | undefined, work: () => Promise<Value>): Promise<Value> {
    const call = { interact }
    this.#running.add(call)
    try {
      return await (interact ? this.#current.run(interact, work) : work())
    } finally {
      this.#running.delete(call)
    }
  }

  /** Contract: never rejects. A person who cannot be asked has declined. */
  async answer(server: string, request: ElicitationRequest): Promise<ElicitationResult> {
    const [only, ...others] = this.#running
    const interact = this.#current.getStore() ?? (others.length === 0 ? only?.interact : undefined)
    const fields = fieldsOf(request)
    if (interact === undefined || fields === undefined) return DECLINED
    const heading = `The MCP server "${server}" asks: ${visibleText(request.message).slice(0, 2_000)}`
    try {
      if (fields.length === 0) return await interact.confirm(heading) ? { action: 'accept', content: {} } : DECLINED
      const content: Record<string, string | number | boolean | string[]> = {}
      for (const field of fields) content[field.name] = await field.ask(interact, `${heading}\n${field.label}`)
      return { action: 'accept', content }
    } catch {
      return DECLINED
    }
  }
}

interface Field {
  readonly name: string
  readonly label: string
  ask(interact: Interact, prompt: string): Promise<string | number | boolean | string[]>
}

/** The fields of a form, or undefined for what no form of ours can ask: pages to visit, and what is not flat. */
function fieldsOf({ mode = 'form', requestedSchema }: ElicitationRequest): readonly Field[] | undefined {
  if (mode !== 'form' || !isJsonObject(requestedSchema as Json)) return undefined
  const { properties = {} } = requestedSchema as JsonObject
  if (!isJsonObject(properties) || Object.keys(properties).length > MOST_FIELDS) return undefined
  const fields = Object.entries(properties).map(([name, schema]) => isJsonObject(schema) ? fieldOf(name, schema) : undefined)
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function fieldOf(name: string, schema: JsonObject): Field | undefined {
  const words = [schema['title'], schema['description']].filter((text) => typeof text === 'string').join(': ')
  const label = visibleText(words === '' ? name : `${name} (${words})`).slice(0, 500)
  const options = optionsOf(schema)
  if (options !== undefined) return { name, label, ask: (interact, prompt) => interact.select(prompt, options) }
  switch (schema['type']) {
    case 'boolean': return { name, label, ask: (interact, prompt) => interact.confirm(prompt) }
    case 'string': return { name, label, ask: (interact, prompt) => interact.ask(prompt) }
    case 'number':
    case 'integer': return { name, label, ask: async (interact, prompt) => numberOf(await interact.ask(prompt)) }
    default: return undefined
  }
}

function optionsOf({ enum: values, oneOf }: JsonObject): readonly InteractionOption[] | undefined {
  const listed = Array.isArray(oneOf) ? oneOf.map((one) => isJsonObject(one) ? one['const'] : undefined) : values
  if (!Array.isArray(listed) || listed.length === 0 || !listed.every((value) => typeof value === 'string')) return undefined
  return listed.map((label) => ({ label }))
}

function numberOf(answer: string): number {
  const value = Number(answer.trim())
  if (answer.trim() === '' || !Number.isFinite(value)) throw new BulkheadError('InputInvalid', 'A number was asked for.')
  return value
}
