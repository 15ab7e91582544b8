import { HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { type DescribedParameter, resolveReference, type QueryStyle, Unusable } from './api-description.ts'
import type { ArgumentSchemas } from './argument-schemas.ts'

/** An argument of a tool: how it is sent, and its schema. */
export interface Argument<Sent> {
  readonly sent: Sent
  readonly schema: Json
  readonly required: boolean
}

const MOST = 128
type Place = DescribedParameter['in']
type Style = DescribedParameter['style']
/** The styles of each place. The first is the default. */
const STYLES: ReadonlyMap<string, readonly Style[]> = new Map<Place, readonly Style[]>([
  ['path', ['simple', 'label', 'matrix']], ['header', ['simple']], ['cookie', ['form']],
  ['query', ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']],
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
      const parameter = resolveReference(root, one)
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
  const isToken = place === 'header' || place === 'cookie'
  if (isToken && !HEADER_NAME_PATTERN.test(name)) throw new Unusable(`has a ${place} with an invalid name`)
  if (!STYLES.has(place)) throw new Unusable(`has a parameter with the invalid place "${place.slice(0, 32)}"`)
  const { style, explode, json, reserved, schema } = formOf(parameter, place)
  const argument = argumentName(name, place, taken)
  return {
    sent: { argument, name, in: place as Place, style, explode, json, reserved },
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

function formOf(parameter: JsonObject, place: string): WrittenForm {
  const { content, schema, style = '', explode, allowReserved } = parameter
  const styles = STYLES.get(place)!
  if (isJsonObject(content)) return contentForm(content, styles[0]!)
  const named = String(style) || styles[0]!
  const known = styles.find((one) => one === named)
  if (known === undefined) throw new Unusable(`has a parameter with the unsupported style "${named.slice(0, 32)}"`)
  return {
    style: known, explode: explodes(named, explode), json: false,
    reserved: place === 'query' && allowReserved === true, schema,
  }
}

/** A parameter with a media type: JSON, or text as it is. */
function contentForm(content: JsonObject, style: WrittenForm['style']): WrittenForm {
  const [mediaType = '', media] = Object.entries(content)[0] ?? []
  const schema = isJsonObject(media) ? media['schema'] : undefined
  const json = /[/+]json$/.test(mediaType)
  const isText = mediaType.startsWith('text/') || (isJsonObject(schema) && schema['type'] === 'string')
  if (!isJsonObject(media) || !(json || isText)) throw new Unusable('has a parameter with an unsupported media type')
  return json
    ? { style: 'simple', explode: false, json, reserved: false, schema }
    : { style, explode: false, json, reserved: false, schema: { type: 'string' } }
}

export const isQueryStyle = (style: string): style is QueryStyle =>
  STYLES.get('query')!.some((known) => known === style)

/** The given value, or the default of the style. */
export const explodes = (style: string, written: Json | undefined): boolean =>
  written === undefined ? style === 'form' : written === true

/** Uses only characters that every model API accepts. A duplicate name gets its place as a prefix. */
function argumentName(name: string, place: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 56)
  const found = [plain, `${place}_${plain}`].find((one) => !taken.has(one) && one !== '__proto__')
  if (found === undefined) throw new Unusable(`has two arguments with the name "${plain}"`)
  taken.add(found)
  return found
}
