import type { AnyRuntime, ExtensionModule, Json, JsonObject } from '@bulkhead/contract/author'
import { type CallRuntime, OauthTokens } from './calling/authorization.ts'
import { operationCaller } from './calling/call-operation.ts'
import type { Credential } from './credentials.ts'
import type { DescribedOperation } from './reading/api-description.ts'

// An extension bundles this module, so it imports nothing that a compartment lacks.

/** What `describeDocument` makes of a document, as JSON. */
export interface DescribedExtension {
  /** Where the API is, without a slash at its end. */
  readonly baseUrl: string
  readonly secrets: readonly { readonly name: string; readonly hosts: readonly string[] }[]
  readonly tools: readonly DescribedTool[]
}

export interface DescribedTool {
  readonly name: string
  /** Keys of the manifest, with `input` for its inputSchema. */
  readonly declared: Readonly<Record<string, unknown>>
  readonly operation: Pick<DescribedOperation, 'operationId' | 'method' | 'path' | 'parameters' | 'body'>
  readonly credentials: readonly Credential[]
}

interface OpenapiTool {
  execute(args: JsonObject, runtime: Partial<AnyRuntime>): Promise<Json>
}

export interface OpenapiExtension extends ExtensionModule {
  readonly tools: Readonly<Record<string, OpenapiTool>>
}

/** The schema of every result. */
export const RESULT = {
  type: 'object', required: ['status', 'body'],
  properties: {
    status: { type: 'integer', description: 'The HTTP status.' }, content_type: { type: 'string' },
    next: { type: 'object', description: 'The next page.' }, truncated: { type: 'boolean' }, body: {},
  },
} as const

/** The extension that offers the operations of a document. `described` is what `describeDocument` returned. */
export function openapiExtension(described: object): OpenapiExtension {
  const { baseUrl, secrets, tools } = described as DescribedExtension
  const tokens = new OauthTokens()
  return {
    secrets,
    tools: Object.fromEntries(tools.map(({ name, declared, operation, credentials }) => {
      const call = operationCaller(operation as DescribedOperation, baseUrl, credentials, tokens)
      return [name, {
        ...declared, output: RESULT,
        execute: (args: JsonObject, runtime: Partial<AnyRuntime>) => call(args, runtime as CallRuntime),
      }]
    })),
  }
}
