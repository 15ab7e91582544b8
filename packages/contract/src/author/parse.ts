import type { JsonObject } from '@bulkhead/kit/json'
import type { AnyRuntime } from './runtime.ts'
import { isTypedSchema, type TypedSchema } from './schema-types.ts'
import { ToolError } from './tool-error.ts'

/** A value parsed with the schema of a library. Rejects with InputInvalid. `what` begins the message. */
export async function parsed({ '~standard': { validate } }: TypedSchema, given: unknown, what = ''): Promise<unknown> {
  const { value, issues } = await validate(given)
  if (issues === undefined) return value
  const texts = issues.map(({ message, path = [] }) => {
    const place = path.map((step) => `/${String(typeof step === 'object' ? step.key : step)}`).join('')
    return place === '' ? message : `${place}: ${message}`
  })
  throw new ToolError('InputInvalid', what + texts.join('. '))
}

type ParseConfig = (config: object | undefined) => Promise<JsonObject>

/** undefined for a schema that only the host checks. A host passes the same object to every call, so it is parsed once. */
export function configParser(schema: unknown): ParseConfig | undefined {
  if (!isTypedSchema(schema)) return undefined
  let last: { readonly given: object | undefined; readonly made: Promise<JsonObject> } | undefined
  return (given) => {
    if (last === undefined || last.given !== given) {
      const made = parsed(schema, given ?? {}, 'The configuration of the extension is invalid. ') as Promise<JsonObject>
      last = { given, made }
    }
    return last.made
  }
}

/** The same runtime with the parsed configuration. Its other members read their own object. */
export const withConfig = (runtime: Partial<AnyRuntime>, config: JsonObject): Partial<AnyRuntime> =>
  new Proxy(runtime, {
    get: (target, key): unknown => key === 'config' ? config : Reflect.get(target, key),
    has: (target, key) => key === 'config' || Reflect.has(target, key),
  })
