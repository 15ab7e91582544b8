import {
  BulkheadError, isJsonObject, visibleText, type Interact, type InteractionOption, type Json, type JsonObject,
} from '@bulkhead/contract'

export type FieldValue = string | number | boolean | string[]

/** One thing that a server wants to know. */
export interface Field {
  readonly name: string
  readonly label: string
  /** undefined for what may be left open, and was. Rejects where a person gives no answer, or none of its kind. */
  readonly ask: (interact: Interact, prompt: string) => Promise<FieldValue | undefined>
}

const MOST_FIELDS = 16

/** The fields of a form, or undefined for what no form of ours can ask: what is not flat. */
export function fieldsOf(requestedSchema: unknown): readonly Field[] | undefined {
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
  const hint = preset === undefined ? '' : `; suggested: ${typeof preset === 'string' ? preset : JSON.stringify(preset)}`
  const label = visibleText(words === '' ? `${name}${hint}` : `${name} (${words})${hint}`).slice(0, 500)
  const ask = askingFor(schema, isRequired)
  return ask && { name, label, ask }
}

function askingFor(schema: JsonObject, isRequired: boolean): Field['ask'] | undefined {
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
      return answer === '' && !isRequired ? undefined : numberOf(answer, type === 'integer')
    }
    default: return undefined
  }
}

/** Texts to choose from, in each of the ways that versions of the protocol have for it. */
function optionsOf({ enum: values, enumNames, oneOf, anyOf = oneOf }: JsonObject): readonly InteractionOption[] | undefined {
  const titled = Array.isArray(anyOf) ? anyOf.map((one) => isJsonObject(one) ? one : {}) : undefined
  const listed = titled ? titled.map((one) => one['const']) : values
  const titles = titled ? titled.map((one) => one['title']) : Array.isArray(enumNames) ? enumNames : []
  if (!Array.isArray(listed) || listed.length === 0 || !listed.every((value) => typeof value === 'string')) return undefined
  return listed.map((label, index) => {
    const title = titles[index]
    return { label, ...(typeof title === 'string' && title !== label ? { description: visibleText(title).slice(0, 200) } : {}) }
  })
}

function numberOf(answer: string, isWhole: boolean): number {
  const value = Number(answer)
  if (answer === '' || !Number.isFinite(value) || (isWhole && !Number.isInteger(value))) {
    throw new BulkheadError('InputInvalid', `A${isWhole ? ' whole' : ''} number was asked for.`)
  }
  return value
}
