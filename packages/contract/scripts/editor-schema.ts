import { z } from 'zod'
import { CONTRACT_VERSION } from '../src/model/names.ts'

interface Heading {
  readonly name: string
  readonly title: string
  readonly description: string
}

/** The JSON Schema (2020-12) of the input, before defaults are set. */
export function editorSchema(schema: z.ZodType, { name, title, description }: Heading): string {
  const { $schema, ...body } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' })
  const $id = `urn:bulkhead:contract:${CONTRACT_VERSION.split('.')[0]}:${name}`
  return JSON.stringify({ $schema, $id, title, description, ...body }, null, 2) + '\n'
}
