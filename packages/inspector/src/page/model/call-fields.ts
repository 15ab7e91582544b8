import { readFormSchema, type FormField, type FormSchema } from '@bulkhead/kit/form'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** One argument of a tool. Without a form, it is written as JSON. */
export interface CallField {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly isRequired: boolean
  readonly form?: FormSchema
}

/** What a form can show of a schema. Other keywords are checked by the host. */
const SHOWN: ReadonlySet<string> = new Set<keyof FormField>([
  'type', 'title', 'description', 'default', 'enum', 'oneOf', 'items', 'format', 'minLength', 'maxLength', 'minimum',
  'maximum', 'minItems', 'maxItems',
])
/** Keywords by which one argument depends on another, or names are free. */
const WHOLE: readonly string[] = ['$ref', 'oneOf', 'anyOf', 'allOf', 'if', 'patternProperties', 'dependentSchemas']

/** The fields of a form for a tool. undefined: its arguments can only be written as JSON. */
export function callFields(schema: JsonObject): readonly CallField[] | undefined {
  const { properties, required } = schema
  if (!isJsonObject(properties) || WHOLE.some((keyword) => schema[keyword] !== undefined)) return undefined
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.entries(properties).map(([name, given]) => {
    const field = isJsonObject(given) ? given : {}
    const { title, description } = field
    const form = formOf(name, field, needed.has(name))
    return {
      name,
      title: typeof title === 'string' ? title : name,
      isRequired: needed.has(name),
      ...(typeof description === 'string' && { description }),
      ...(form && { form }),
    }
  })
}

/** undefined for an object, a list of free values, an alternative, and whatever else a form cannot show. */
function formOf(name: string, field: JsonObject, isRequired: boolean): FormSchema | undefined {
  const { const: only, format, enum: values, ...rest } = field
  const choices: Json | undefined = values ?? (only === undefined ? undefined : [only])
  const isText = Array.isArray(choices) && choices.every((one) => typeof one === 'string')
  const own = Object.fromEntries(Object.entries(rest).filter(([key]) => SHOWN.has(key)))
  const isAlternative = ['$ref', 'anyOf', 'allOf', 'properties'].some((keyword) => rest[keyword] !== undefined)
  if (isAlternative) return undefined
  const named = { ...own, ...(choices !== undefined && { enum: choices }), ...(isText && { type: 'string' }) }
  const known = ['email', 'uri', 'date', 'date-time'].includes(String(format)) ? { ...named, format: format! } : named
  const form = { type: 'object', properties: { [name]: known }, ...(isRequired && { required: [name] }) }
  return readFormSchema(form as JsonObject)
}

/** What a field is filled in with. */
export function initialArguments(schema: JsonObject): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => {
      const initial = isJsonObject(field) ? (field['default'] ?? field['const']) : undefined
      return initial === undefined ? [] : [[name, initial]]
    }),
  )
}
