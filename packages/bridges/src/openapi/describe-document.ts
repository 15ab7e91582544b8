import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BulkheadError, MANIFEST_LIMITS, type ManifestInput, type OpenapiConfig } from '@bulkhead/contract'
import { readSchema } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import { toolName } from '../connected/entries.ts'
import { credentialsOf } from './credentials.ts'
import { baseUrlOf, documentExtension, type DocumentEntry } from './document-extension.ts'
import { RESULT, type DescribedExtension, type DescribedTool } from './extension.ts'
import type { DescribedApi } from './reading/api-description.ts'
import { readDocument } from './reading/document-pool.ts'
import { readFileSource } from './sources/file.ts'

/** Keys of a document in the configuration of a host, with the same meaning. */
export type DescribeOptions =
  Pick<OpenapiConfig, 'baseUrl' | 'auth' | 'security' | 'operations' | 'tags' | 'paths' | 'methods' | 'prefix'> & {
    /** The extension. The names of secrets begin with it, unless `auth` or `security` is set. */
    readonly id: string
  }

export interface DescribedDocument {
  /** For `openapiExtension`. Contains no functions, so that it can be written to a file. */
  readonly extension: DescribedExtension
  /** Operations that are left out, and what else the publisher should know. */
  readonly notes: readonly string[]
}

/**
 * Describes the operations of an OpenAPI document as the tools of an extension that can be published. Reads the file,
 * in JSON or YAML, and the files below its folder that it refers to. Rejects with ConfigInvalid.
 */
export async function describeDocument(
  file: URL | string, { id, ...options }: DescribeOptions,
): Promise<DescribedDocument> {
  const path = typeof file === 'string' ? file : fileURLToPath(file)
  const name = basename(path)
  const refuse = (what: string): BulkheadError =>
    new BulkheadError('ConfigInvalid', `The OpenAPI document ${visibleText(path)} ${visibleText(what)}.`)
  const source = await readFileSource({ path, within: undefined })
  if (!source.ok) throw refuse(source.message)
  const { operations = null, tags = null, paths = null, methods = null, baseUrl } = options
  const wanted = { operations, tags, paths, methods, hasBaseUrl: baseUrl !== undefined }
  const answer = await readDocument({ ...source, wanted })
  if (!answer.ok) throw refuse(answer.message)
  const { api } = answer
  const verdict = baseUrlOf(baseUrl, api.server)
  if (!verdict.ok) throw refuse(verdict.message.replaceAll('the configuration', 'the options'))
  const config: OpenapiConfig = { document: name, ...options, ...secretNames(id, api, options) }
  const entry: DocumentEntry =
    { name, config, layer: 'global', location: path, path: '', extensionId: id, identity: '' }
  const { extension, diagnostics } = documentExtension(entry, path, api, verdict.base)
  if (extension === undefined) throw refuse('has no operation that can be used')
  const credentials = credentialsOf(config, api, verdict.base.href)
  const prefix = config.prefix === undefined ? [] : [config.prefix]
  const byName = new Map(api.operations.map((one) => [toolName([...prefix, one.operationId], '__'), one]))
  const { kept, leftOut } = fitting(extension.manifest.tools)
  const tools = kept.map(({ name: tool, inputSchema: input, ...declared }): DescribedTool => {
    const { operationId, method, path: place, parameters, body } = byName.get(tool)!
    const keys = parameters.filter((one) => one.in === 'path' && /^\w+$/.test(one.argument))
    const approvalKey = keys.map(({ argument }) => `{${argument}}`).join('/')
    return {
      name: tool,
      declared: { ...declared, ...(approvalKey !== '' && { approvalKey }), input },
      operation: { operationId, method, path: place, parameters, body },
      credentials: credentials.of(operationId),
    }
  })
  const used = new Set(tools.flatMap((tool) => tool.credentials.map(({ secret }) => secret)))
  const secrets = (extension.manifest.secrets ?? []).filter((one) => used.has(one.name))
    .map((one) => ({ name: one.name, hosts: one.hosts ?? [] }))
  return {
    // As it will be read again: without members that are undefined.
    extension: JSON.parse(JSON.stringify({ baseUrl: verdict.base.href, secrets, tools })) as DescribedExtension,
    notes: [
      ...diagnostics.map(({ message }) => message),
      ...(leftOut.length === 0 ? [] : [
        `${leftOut.length} of ${byName.size} operations are left out, because an extension has at most `
        + `${MANIFEST_LIMITS.tools} tools, ${MANIFEST_LIMITS.manifestBytes} bytes of manifest and `
        + `${MANIFEST_LIMITS.subschemasPerExtension} subschemas. Choose others with operations, tags, paths or methods: `
        + leftOut.join(', '),
      ]),
      ...secrets.map((one) => `The operations use the secret ${one.name}. A user sets it as a variable of the host.`),
    ],
  }
}

/** A variable for each security scheme, unless the publisher names them. */
function secretNames(
  id: string, { schemes }: DescribedApi, { auth, security }: Omit<DescribeOptions, 'id'>,
): Pick<OpenapiConfig, 'security'> {
  if (auth !== undefined || security !== undefined || schemes.length === 0) return {}
  return {
    security: Object.fromEntries(schemes.map(({ name }) =>
      [name, { secret: `${id}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_') }])),
  }
}

type Tools = ManifestInput['tools']

/** What generating the manifest adds: the other keys, and approval keys and output schemas of the tools. */
const OTHER_BYTES = 8 * 1024
const BYTES_PER_TOOL = 1024

/** The tools that fit into one manifest, in the order of the document. */
function fitting(tools: Tools): { readonly kept: Tools; readonly leftOut: readonly string[] } {
  const kept: Tools = []
  const leftOut: string[] = []
  let bytes = OTHER_BYTES
  let subschemas = 0
  for (const tool of tools) {
    // Written with the indentation that it has in the manifest.
    const more = Buffer.byteLength(JSON.stringify({ tools: [tool] }, null, 2)) + BYTES_PER_TOOL
    const reading = readSchema(tool.inputSchema as Parameters<typeof readSchema>[0])
    const count = reading.ok ? reading.document.subschemas + RESULT_SUBSCHEMAS : Number.POSITIVE_INFINITY
    const fits = kept.length < MANIFEST_LIMITS.tools && bytes + more <= MANIFEST_LIMITS.manifestBytes
      && subschemas + count <= MANIFEST_LIMITS.subschemasPerExtension
    if (!fits) {
      leftOut.push(tool.name)
      continue
    }
    kept.push(tool)
    bytes += more
    subschemas += count
  }
  return { kept, leftOut }
}

const RESULT_SUBSCHEMAS = 1 + Object.keys(RESULT.properties).length
