import type { AnyRuntime, JsonObject, ModuleTool, OpenapiConfig } from '@bulkhead/contract'
import type { DescribedOperation } from '../reading/described.ts'
import { answerOf } from './answer.ts'
import { requestOf } from './request.ts'

/** What a call works with: it reaches the network by the same judge as any tool, and has of a secret a handle alone. */
type Carried = Required<Pick<AnyRuntime, 'net'>> & Pick<AnyRuntime, 'secrets'>

/** What carries the calls of one operation. */
export function carry(operation: DescribedOperation, base: string, auth: OpenapiConfig['auth']): Pick<ModuleTool, 'execute'> {
  const execute = async (args: JsonObject, runtime: Carried): Promise<JsonObject> => {
    const { url, method, headers, body } = requestOf(operation, base, args)
    const sent = Object.fromEntries([...headers, ...(auth ? [await authorisation(auth, runtime)] : [])])
    return answerOf(method, await runtime.net.fetch(url, { method, headers: sent, ...(body !== undefined && { body }) }))
  }
  return { execute: execute as unknown as ModuleTool['execute'] }
}

/** Goes over whatever a document or a model has put there. */
async function authorisation(auth: NonNullable<OpenapiConfig['auth']>, { secrets }: Carried): Promise<readonly [string, string]> {
  const handle = await secrets!.handle(auth.secret)
  return auth.type === 'bearer' ? ['authorization', `Bearer ${handle}`] : [auth.header.toLowerCase(), handle]
}
