import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { RequestFault } from '../fault.ts'

const MOST_BODY_BYTES = 256 * 1024

/** The object in the body. A page of another site cannot send this type without being asked. Throws InputInvalid or TooLarge. */
export async function readBody(request: Request): Promise<JsonObject> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json(?:;|$)/i.test(type)) throw invalid('The body must be JSON: send content-type application/json.')
  const parsed = parseJson(await readBounded(request))
  if (!parsed.ok || !isJsonObject(parsed.value)) throw invalid('The body is not a JSON object.')
  return parsed.value
}

async function readBounded(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > MOST_BODY_BYTES) throw new RequestFault('TooLarge', `The body is longer than ${MOST_BODY_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const invalid = (message: string, path?: string): RequestFault => new RequestFault('InputInvalid', message, path)

/** A member of the body of this type. Throws InputInvalid. */
export function text(body: JsonObject, name: string): string {
  const { [name]: value } = body
  if (typeof value === 'string') return value
  throw invalid(`"${name}" must be a string.`, `/${name}`)
}

export function optionalText(body: JsonObject, name: string): string | undefined {
  return body[name] === undefined ? undefined : text(body, name)
}

export function flag(body: JsonObject, name: string): boolean {
  const { [name]: value } = body
  if (typeof value === 'boolean') return value
  throw invalid(`"${name}" must be true or false.`, `/${name}`)
}

export function optionalNumber(body: JsonObject, name: string): number | undefined {
  const { [name]: value } = body
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
  throw invalid(`"${name}" must be a number.`, `/${name}`)
}

export function optionalObject(body: JsonObject, name: string): JsonObject | undefined {
  const { [name]: value } = body
  if (value === undefined || isJsonObject(value)) return value
  throw invalid(`"${name}" must be an object.`, `/${name}`)
}
