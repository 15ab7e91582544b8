import type { Json, JsonObject } from '@bulkhead/kit/json'
import { readSchema, schemaCompiler } from '@bulkhead/kit/schema'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** Why an answer is not what a server asks for, as the end of a sentence. */
export type AnswerCheck = (answer: Json) => string | undefined

const LIMITS = { schemaChars: 16_384, schemaDepth: 4, subschemas: 256, patternChars: 1_024, inPlaceSubschemas: 256 }

const isDay = (text: string): boolean => {
  const at = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** The protocol has a client check these. To a schema in general a format is a remark. */
const FORMATS: ReadonlyMap<Json, (text: string) => boolean> = new Map([
  ['email', (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  ['uri', (text) => URL.canParse(text)],
  ['date', isDay],
  ['date-time', (text) => /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text))],
])

/** undefined for a schema that cannot be used. */
export function answerCheck(schema: JsonObject): AnswerCheck | undefined {
  const reading = readSchema(schema, { limits: LIMITS })
  if (!reading.ok) return undefined
  const { check } = schemaCompiler(Ajv2020, { compile: () => undefined })(reading.document)
  const { format = null } = schema
  const hasFormat = FORMATS.get(format)
  return (answer) => {
    const fault = check(answer)
    if (fault !== undefined) return fault.message
    return typeof answer === 'string' && hasFormat?.(answer) === false ? `must be of the format "${String(format)}"` : undefined
  }
}
