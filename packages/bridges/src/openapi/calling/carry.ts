import { BulkheadError, type AnyRuntime, type ModuleTool, type OpenapiConfig } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { DescribedOperation } from '../reading/described.ts'
import { answerOf } from './answer.ts'
import { requestOf } from './request.ts'

/** What a call works with: it reaches the network by the same judge as any tool, and has of a secret a handle alone. */
type Carried = Required<Pick<AnyRuntime, 'net'>> & Pick<AnyRuntime, 'secrets'>

/** What carries the calls of one operation. `document`: its name in the configuration. */
export function carry(
  operation: DescribedOperation, document: string, base: string, auth: OpenapiConfig['auth'],
): Pick<ModuleTool, 'execute'> {
  const execute = async (args: JsonObject, runtime: Carried): Promise<JsonObject> => {
    const { url, method, headers, body } = requestOf(operation, base, args)
    const sent = Object.fromEntries([...headers, ...(auth ? [await authorisation(auth, runtime)] : [])])
    const response = await runtime.net.fetch(url, { method, headers: sent, ...(body !== undefined && { body }) })
      .catch((error: unknown) => { throw withPlace(error, document) })
    return answerOf(method, response)
  }
  return { execute: execute as unknown as ModuleTool['execute'] }
}

/** Goes over whatever a document or a model has put there. */
async function authorisation(auth: NonNullable<OpenapiConfig['auth']>, { secrets }: Carried): Promise<readonly [string, string]> {
  const handle = await secrets!.handle(auth.secret)
  return auth.type === 'bearer' ? ['authorization', `Bearer ${handle}`] : [auth.header.toLowerCase(), handle]
}

/** Of a document an operator allows a place by one key alone, so that whoever is told to ask for it is told which. */
function withPlace(error: unknown, document: string): unknown {
  const { code, message, data } = error as { readonly code?: unknown; readonly message?: unknown; readonly data?: Json }
  if (code !== 'CapabilityDenied') return error
  const said = `${String(message)} The one place that its operations may reach is \`baseUrl\` of "${document}" in the configuration.`
  return new BulkheadError(code, said, { cause: error, ...(data !== undefined && { data }) })
}
