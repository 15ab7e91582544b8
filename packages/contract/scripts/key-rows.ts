import { z } from 'zod'

/** The parts of a JSON Schema that this script reads. */
interface Keys {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly description?: string
  readonly properties?: Readonly<Record<string, Keys>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Keys
  readonly items?: Keys
  readonly anyOf?: readonly Keys[]
  readonly oneOf?: readonly Keys[]
}

/** Keys whose members are described on another page or in another row. */
export type Elsewhere = ReadonlySet<string>

/** One table row per key, in the order of the schema: path, form and meaning. */
export function keyRows(schema: z.ZodType, elsewhere: Elsewhere): string {
  return rowsOf(z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' }) as Keys, '', elsewhere).join('')
}

function rowsOf(schema: Keys, path: string, elsewhere: Elsewhere): readonly string[] {
  const inside = [
    ...Object.entries(schema.properties ?? {}).filter(([key]) => !key.startsWith('$')).flatMap(([key, member]) => {
      const at = path === '' ? key : `${path}.${key}`
      return [row(at, member, schema.required?.includes(key) === true), ...(elsewhere.has(at) ? [] : rowsOf(member, at, elsewhere))]
    }),
    ...(schema.items ? rowsOf(schema.items, `${path}[]`, elsewhere) : []),
    ...(typeof schema.additionalProperties === 'object' ? rowsOf(schema.additionalProperties, `${path}.<name>`, elsewhere) : []),
  ]
  return [...inside, ...alternatives(schema).flatMap((one) => rowsOf(one, path, elsewhere))]
}

function row(path: string, schema: Keys, required: boolean): string {
  const preset = schema.default === undefined || typeof schema.default === 'object' ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`
  const needed = required && schema.default === undefined ? ' **Required.**' : ''
  return `| \`${path}\` | ${formOf(schema)} | ${(schema.description ?? '').replaceAll('|', '\\|')}${preset}${needed} |\n`
}

const alternatives = ({ anyOf = [], oneOf = [] }: Keys): readonly Keys[] => [...anyOf, ...oneOf]

function formOf(schema: Keys): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  if (alternatives(schema).length > 0) return [...new Set(alternatives(schema).map(formOf))].join(' or ')
  if (schema.items !== undefined) return `list of ${formOf(schema.items)}`
  if (schema.type !== undefined) return [schema.type].flat().join(' or ')
  return 'any'
}
