import {
  CALL_LIMITS, CONTRACT_VERSION, MANIFEST_LIMITS, type ConnectedExtension, type Diagnostic, type ManifestInput, type OpenapiConfig,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { diagnosticOf, sha512 } from '../connected/entries.ts'
import { cut, labelOf, statedVersion, toolName } from '../connected/names.ts'
import type { BaseUrl, DocumentEntry } from './document-entry.ts'
import { carry } from './calling/call-operation.ts'
import type { DescribedApi, DescribedOperation } from './reading/api-description.ts'

export interface DocumentExtension {
  /** undefined where nothing is left to offer. */
  readonly extension: ConnectedExtension | undefined
  readonly diagnostics: readonly Diagnostic[]
}

const TELL = 'Report it to the author of the document.'
const CURE = 'Report it to the author of the document, or leave the operation out.'

/** A document as an extension: a manifest of what it says, and a module that makes requests. `path`: of its file. */
export function documentExtension(entry: DocumentEntry, path: string, api: DescribedApi, base: BaseUrl): DocumentExtension {
  const { name, config } = entry
  const prefix = config.prefix === undefined ? [] : [config.prefix]
  const groups = Map.groupBy(api.operations, ({ operationId }) => toolName([...prefix, operationId], '__'))
  const byName = new Map([...groups].filter(([, found]) => found.length === 1).map(([tool, [operation]]) => [tool, operation!]))
  const twins = [...groups].filter(([tool]) => !byName.has(tool))
    .map(([tool, found]) => `${found.map(({ operationId }) => `"${operationId}"`).join(' and ')} would both be called "${tool}"`)
  const diagnostics = [
    ...[...api.faults, ...twins].map((what) =>
      diagnosticOf(entry, 'ShapeInvalid', `The document "${name}" describes what cannot be used: ${visibleText(what)}.`, CURE)),
    ...api.mended.map((what) => diagnosticOf(entry, 'ConfigSchemaInvalid',
      `The document "${name}" has schemas that are not of JSON Schema 2020-12 and are read as they are meant: ${visibleText(what)}.`, TELL, 'warning')),
    ...(api.unnamed === 0 ? [] : [diagnosticOf(entry, 'ShapeInvalid',
      `Of the document "${name}", ${api.unnamed} operations have no operationId and are not offered.`, CURE, 'warning')]),
  ]
  if (byName.size === 0) return { extension: undefined, diagnostics }
  const digests = new Map([...byName].map(([tool, operation]) => [tool, sha512(canonicalJson(operation as unknown as Json))]))
  const extension: ConnectedExtension = {
    layer: entry.layer,
    location: entry.location,
    identity: sha512(canonicalJson({ path, base: base.href, auth: (config.auth ?? null) as Json })),
    definitions: digests,
    server: {
      kind: 'openapi', name, address: base.href,
      tools: new Map([...byName].map(([tool, { operationId }]) => [tool, operationId])),
      deeds: new Map([...byName].map(([tool, operation]) => [tool, `${operation.method} ${base.href}${operation.path}`])),
    },
    manifest: {
      kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*',
      id: entry.extensionId, title: `OpenAPI document ${name}`,
      version: statedVersion(api.version, [...[...digests.values()].toSorted(), `${config.timeoutMs ?? ''}`]),
      ...(config.auth && { secrets: [{ name: config.auth.secret, hosts: [base.host] }] }),
      tools: [...byName].map(([tool, operation]) => toolManifest(tool, operation, base, config)),
    },
    module: (names) => ({
      tools: Object.fromEntries(names.map((tool) => [tool, carry(byName.get(tool)!, name, base.href, config.auth)])),
    }),
  }
  return { extension, diagnostics }
}

function toolManifest(
  name: string, { method, label, description, inputSchema }: DescribedOperation, { host }: BaseUrl, { timeoutMs }: OpenapiConfig,
): ManifestInput['tools'][number] {
  return {
    name, ...labelOf(label),
    description: cut(description, MANIFEST_LIMITS.descriptionChars),
    inputSchema,
    requires: { net: { hosts: [host] } },
    // That a GET only looks is the word of the document: nothing is loosened by it.
    gated: true, mode: 'external', idempotent: false, ...(method === 'GET' && { kind: 'fetch' as const }),
    timeoutMs: Math.min(timeoutMs ?? CALL_LIMITS.defaultTimeoutMs, CALL_LIMITS.maxTimeoutMs),
  }
}
