import { AsyncLocalStorage } from 'node:async_hooks'
import { BulkheadError, type Interact, type InteractionOption } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { readSchema, schemaCompiler } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** A question of a server. */
export interface ElicitationRequest {
  readonly mode?: string | undefined
  readonly message: string
  readonly requestedSchema?: unknown
}
export interface ElicitationResult {
  [key: string]: unknown
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, FieldValue>
}

const DECLINED: ElicitationResult = { action: 'decline' }

/**
 * Routes the questions of a server to the person of the call. A question outside any call belongs to the only running
 * call. With several or none it is ambiguous and is declined.
 */
export class Elicitation {
  readonly #current = new AsyncLocalStorage<Interact>()
  readonly #running = new Set<{ readonly interact: Interact | undefined }>()

  get hasCalls(): boolean {
    return this.#running.size > 0
  }

  async during<Value>(interact: Interact | undefined, work: () => Promise<Value>): Promise<Value> {
    const call = { interact }
    this.#running.add(call)
    try {
      return await (interact ? this.#current.run(interact, work) : work())
    } finally {
      this.#running.delete(call)
    }
  }

  /** Never rejects. Declines if the person cannot be asked. */
  async answer(server: string, request: ElicitationRequest): Promise<ElicitationResult> {
    const [only, ...others] = this.#running
    const interact = this.#current.getStore() ?? (others.length === 0 ? only?.interact : undefined)
    const { mode = 'form', requestedSchema } = request
    const fields = mode === 'form' ? fieldsOf(requestedSchema) : undefined
    if (interact === undefined || fields === undefined) return DECLINED
    const heading = `The MCP server "${server}" asks: ${visibleText(request.message).slice(0, 2_000)}`
    try {
      if (fields.length === 0) return await interact.confirm(heading) ? { action: 'accept', content: {} } : DECLINED
      const content = new Map<string, FieldValue>()
      for (const { name, label, ask } of fields) {
        const value = await ask(interact, `${heading}\n${label}`)
        if (value !== undefined) content.set(name, value)
      }
      return { action: 'accept', content: Object.fromEntries(content) }
    } catch {
      return DECLINED
    }
  }
}

export type FieldValue = string | number | boolean | string[]

/** One field of a form. */
export interface Field {
  readonly name: string
  readonly label: string
  /** Returns undefined for an optional field that was left empty. Rejects if the person gives no valid answer. */
  readonly ask: (interact: Interact, prompt: string) => Promise<FieldValue | undefined>
}

type Asking = Field['ask']

const MOST_FIELDS = 16
const MOST_ATTEMPTS = 3

/** The fields of a form. Returns undefined for an unsupported form, such as a nested one. */
function fieldsOf(requestedSchema: unknown): readonly Field[] | undefined {
  if (!isJsonObject(requestedSchema as Json)) return undefined
  const { properties = {}, required } = requestedSchema as JsonObject
  if (!isJsonObject(properties) || Object.keys(properties).length > MOST_FIELDS) return undefined
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : [])
  const fields = Object.entries(properties).map(([name, schema]) =>
    isJsonObject(schema) ? fieldOf(name, schema, needed.has(name)) : undefined)
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): Field | undefined {
  const { title, description, default: preset } = schema
  const words = [title, description].filter((text) => typeof text === 'string').join(': ')
  const hint = preset === undefined
    ? ''
    : `; suggested: ${typeof preset === 'string' ? preset : JSON.stringify(preset)}`
  const label = visibleText(words === '' ? `${name}${hint}` : `${name} (${words})${hint}`).slice(0, 500)
  const ask = askingFor(schema, isRequired)
  const findFault = answerCheck(schema)
  return ask && findFault && { name, label, ask: untilFit(ask, findFault) }
}

/** Asks again, with the reason, if an answer does not match the schema. Only valid answers are sent to the server. */
const untilFit = (ask: Asking, findFault: AnswerCheck): Asking => async (interact, prompt) => {
  let hint = ''
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const answer = await ask(interact, prompt + hint)
    const fault = answer === undefined ? undefined : findFault(answer)
    if (fault === undefined) return answer
    hint = `\nThe last answer is not accepted: it ${fault}.`
  }
  throw new BulkheadError('InputInvalid', `The answer was invalid ${MOST_ATTEMPTS} times.`)
}

function askingFor(schema: JsonObject, isRequired: boolean): Asking | undefined {
  const { type, default: preset } = schema
  const options = optionsOf(schema)
  if (options !== undefined) return (interact, prompt) => interact.select(prompt, options)
  const many = type === 'array' && isJsonObject(schema['items']) ? optionsOf(schema['items']) : undefined
  if (many !== undefined) return async (interact, prompt) => [...await interact.selectMany(prompt, many)]
  switch (type) {
    case 'boolean': return (interact, prompt) => interact.confirm(prompt)
    case 'string': return async (interact, prompt) => {
      const answer = await interact.ask(prompt)
      if (answer !== '') return answer
      return typeof preset === 'string' ? preset : isRequired ? answer : undefined
    }
    case 'number':
    case 'integer': return async (interact, prompt) => {
      const answer = (await interact.ask(prompt)).trim()
      if (answer === '' && typeof preset === 'number') return preset
      return answer === '' && !isRequired ? undefined : numberOf(answer)
    }
    default: return undefined
  }
}

/** The options of an enum field. Each version of the protocol writes them differently. */
function optionsOf(
  { enum: values, enumNames, oneOf, anyOf = oneOf }: JsonObject,
): readonly InteractionOption[] | undefined {
  const titled = Array.isArray(anyOf) ? anyOf.map((one) => isJsonObject(one) ? one : {}) : undefined
  const listed = titled ? titled.map((one) => one['const']) : values
  const titles = titled ? titled.map((one) => one['title']) : Array.isArray(enumNames) ? enumNames : []
  if (!Array.isArray(listed) || listed.length === 0 || !listed.every((value) => typeof value === 'string')) {
    return undefined
  }
  return listed.map((label, index) => {
    const title = titles[index]
    return {
      label, ...(typeof title === 'string' && title !== label ? { description: visibleText(title).slice(0, 200) } : {}),
    }
  })
}

/** Returns the string for anything but a number. The schema of a number rejects it. */
const numberOf = (answer: string): number | string =>
  answer !== '' && Number.isFinite(Number(answer)) ? Number(answer) : answer

/** Why an answer is invalid, as the end of a sentence. */
type AnswerCheck = (answer: Json) => string | undefined

const LIMITS = { schemaChars: 16_384, schemaDepth: 4, subschemas: 256, inPlaceSubschemas: 256 }

const isDay = (text: string): boolean => {
  const at = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** The protocol requires clients to check these formats. JSON Schema does not check formats by default. */
const FORMATS: ReadonlyMap<Json, (text: string) => boolean> = new Map([
  ['email', (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  ['uri', (text) => URL.canParse(text)],
  ['date', isDay],
  ['date-time', (text) => DATE_TIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text))],
])

/** Returns undefined for an unusable schema. */
function answerCheck(schema: JsonObject): AnswerCheck | undefined {
  const reading = readSchema(schema, { limits: LIMITS })
  if (!reading.ok) return undefined
  const { check } = schemaCompiler(Ajv2020, { compile: () => undefined })(reading.document)
  const { format = null } = schema
  const hasFormat = FORMATS.get(format)
  return (answer) => {
    const fault = check(answer)
    if (fault !== undefined) return fault.message
    return typeof answer === 'string' && hasFormat?.(answer) === false
      ? `must have the format "${String(format)}"`
      : undefined
  }
}
