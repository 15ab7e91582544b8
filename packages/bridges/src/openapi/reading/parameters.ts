import { HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ArgumentSchemas } from './argument-schemas.ts'
import { Unusable, type DescribedParameter, type QueryStyle } from './api-description.ts'
import { followed } from './references.ts'

/** An argument of a tool: how it is sent, and its schema. */
export interface Argument<Sent> {
  readonly sent: Sent
  readonly schema: Json
  readonly required: boolean
}

const MOST = 128
const STYLES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['path', new Set(['simple'])], ['header', new Set(['simple'])],
  ['query', new Set<QueryStyle>(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'])],
])
/** Headers that the specification excludes, and headers of the connection. */
const NO_PARAMETERS: ReadonlySet<string> = new Set([
  'accept', 'content-type', 'authorization', 'host', 'connection', 'content-length', 'transfer-encoding', 'cookie',
])

/** The parameters of the path and of the operation, which take precedence. Throws Unusable for unsupported ones. */
export function readParameters(
  root: JsonObject, lists: readonly (Json | undefined)[], schemas: ArgumentSchemas,
): readonly Argument<DescribedParameter>[] {
  const found = new Map<string, JsonObject>()
  for (const list of lists) {
    if (list === undefined) continue
    if (!Array.isArray(list)) throw new Unusable('has parameters that are not a list')
    for (const one of list as readonly Json[]) {
      const parameter = followed(root, one)
      found.set(`${String(parameter['in'])} ${String(parameter['name'])}`, parameter)
    }
  }
  if (found.size > MOST) throw new Unusable(`has more than ${MOST} parameters`)
  const taken = new Set<string>()
  return [...found.values()].flatMap((parameter) => readParameter(parameter, schemas, taken) ?? [])
}

function readParameter(
  parameter: JsonObject, schemas: ArgumentSchemas, taken: Set<string>,
): Argument<DescribedParameter> | undefined {
  const { name, in: place, required, description } = parameter
  if (typeof name !== 'string' || name === '' || typeof place !== 'string') {
    throw new Unusable('has a parameter without "name" or "in"')
  }
  if (place === 'header' && NO_PARAMETERS.has(name.toLowerCase())) return undefined
  if (place === 'header' && !HEADER_NAME_PATTERN.test(name)) throw new Unusable('has a header with an invalid name')
  if (!STYLES.has(place)) {
    if (place !== 'cookie') throw new Unusable(`has a parameter with the invalid place "${place.slice(0, 32)}"`)
    if (required === true) throw new Unusable('requires a cookie, and cookies are not supported')
    return undefined
  }
  const { style, explode, json, reserved, schema } = formOf(parameter, place)
  const argument = argumentName(name, place, taken)
  return {
    sent: { argument, name, in: place as DescribedParameter['in'], style, explode, json, reserved },
    schema: withDescription(schemas.of(schema), description),
    required: place === 'path' || required === true,
  }
}

export function withDescription(schema: Json, description: Json | undefined): Json {
  const isMissing = isJsonObject(schema) && schema['description'] === undefined
  return isMissing && typeof description === 'string' ? { ...schema, description } : schema
}

interface WrittenForm extends Pick<DescribedParameter, 'style' | 'explode' | 'json' | 'reserved'> {
  readonly schema: Json | undefined
}

function formOf({ content, schema, style = '', explode, allowReserved }: JsonObject, place: string): WrittenForm {
  if (isJsonObject(content)) {
    const [mediaType = '', media] = Object.entries(content)[0] ?? []
    if (!/[/+]json$/.test(mediaType) || !isJsonObject(media)) {
      throw new Unusable('has a parameter with an unsupported media type')
    }
    return { style: 'simple', explode: false, json: true, reserved: false, schema: media['schema'] }
  }
  const named = String(style) || (place === 'query' ? 'form' : 'simple')
  if (!STYLES.get(place)!.has(named)) {
    throw new Unusable(`has a parameter with the unsupported style "${named.slice(0, 32)}"`)
  }
  return {
    style: named as WrittenForm['style'], explode: explodes(named, explode), json: false,
    reserved: place === 'query' && allowReserved === true, schema,
  }
}

export const isQueryStyle = (style: string): style is QueryStyle => STYLES.get('query')!.has(style)

/** The given value, or the default of the style. */
export const explodes = (style: string, stated: Json | undefined): boolean =>
  stated === undefined ? style === 'form' : stated === true

/** Uses only characters that every model API accepts. A duplicate name gets its place as a prefix. */
function argumentName(name: string, place: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 56)
  const found = [plain, `${place}_${plain}`].find((one) => !taken.has(one) && one !== '__proto__')
  if (found === undefined) throw new Unusable(`has two arguments with the name "${plain}"`)
  taken.add(found)
  return found
}
