import { BulkheadError, type ModuleTool } from '@bulkhead/contract'
import type { Credential } from '../credentials.ts'
import type { DescribedOperation } from '../reading/api-description.ts'
import type { OauthTokens } from './authorization.ts'
import { operationCaller, withoutTokens } from './call-operation.ts'

/** The tool for one operation. `document` is its name in the configuration. */
export function operationTool(
  operation: DescribedOperation, document: string, base: string, credentials: readonly Credential[],
  tokens: OauthTokens,
): Pick<ModuleTool, 'execute'> {
  const explain = (error: unknown, sent: readonly string[]): unknown => withConfigKey(error, document, sent)
  const execute = operationCaller(operation, base, credentials, tokens, explain)
  return { execute: execute as unknown as ModuleTool['execute'] }
}

/** For a document only one configuration key allows a host, so the error names that key. */
function withConfigKey(error: unknown, document: string, tokens: readonly string[]): unknown {
  if (!BulkheadError.is(error)) return error
  const { code, data } = error
  const message = withoutTokens(error.message, tokens)
  if (code !== 'CapabilityDenied' && message === error.message) return error
  const advice = code === 'CapabilityDenied'
    ? ` Its operations may reach only \`baseUrl\` of "${document}" in the configuration.` : ''
  return new BulkheadError(code, `${message}${advice}`, { cause: error, ...(data !== undefined && { data }) })
}
