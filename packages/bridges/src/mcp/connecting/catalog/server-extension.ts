import {
  CALL_LIMITS, CONTRACT_VERSION, MANIFEST_LIMITS, type ConnectedExtension, type Diagnostic, type ExtensionModule,
  type ExtensionPower, type ManifestInput, type RequirementSet,
} from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { diagnosticOf, cut, labelOf, versionFrom, textOf, toolName } from '../../../connected/entries.ts'
import { repairedSchema, plainSchema, toolSchema } from '../../../connected/tool-schema.ts'
import { localGiven, localPowers } from '../../../connected/local-server.ts'
import { unconfinedOf, type ServerEntry } from '../server-entry.ts'
import { catalogDigest, type Catalog, type CatalogTool } from './catalog.ts'
import { accessTools } from './server-content.ts'

export interface ServerExtension {
  /** undefined if there are no usable tools. */
  readonly extension: ConnectedExtension | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** Creates the function that calls a tool of the server. */
export type ToolExecutor = (tool: CatalogTool) => ExtensionModule['tools'][string]

/** A server and its tools as an extension: a manifest of its tools, and a module that forwards the calls. */
export function serverExtension(
  entry: ServerEntry, catalog: Catalog, executorOf: ToolExecutor, phases: Pick<ExtensionModule, 'init'> = {},
): ServerExtension {
  // A tool of the server itself takes precedence over one that the host adds.
  const nameOf = ({ name }: CatalogTool): string => toolName([entry.name, name])
  const groups = Map.groupBy<string, CatalogTool>(catalog.tools, nameOf)
  for (const tool of accessTools(catalog.content, entry.name)) {
    if (!groups.has(nameOf(tool))) groups.set(nameOf(tool), [tool])
  }
  const byName = new Map([...groups].filter(([, tools]) => tools.length === 1).map(([name, [tool]]) => [name, tool!]))
  const duplicates = [...groups].filter(([name]) => !byName.has(name))
    .map(([name, tools]) => `${tools.map((tool) => `"${tool.name}"`).join(' and ')} would both be called "${name}"`)
  const tools = [...byName].map(([name, tool]) => toolManifest(name, tool, entry))
  const diagnostics = [
    ...[...catalog.faults, ...duplicates].map((what) => {
      const message = `The server "${entry.name}" offers a tool that cannot be used: ${visibleText(what)}.`
      return diagnosticOf(entry, 'ShapeInvalid', message, CURE)
    }),
    ...tools.filter(({ repaired }) => repaired.length > 0).map(({ manifest: { name }, repaired }) => {
      const message = `A schema of "${name}" is not valid JSON Schema 2020-12 and was converted: it has `
      return diagnosticOf(entry, 'ConfigSchemaInvalid', `${message}${repaired.join(', ')}.`, CURE, 'warning')
    }),
  ]
  if (byName.size === 0) return { extension: undefined, diagnostics }
  const extension: ConnectedExtension = {
    layer: entry.layer,
    location: entry.location,
    identity: entry.identity,
    definitions: new Map([...byName].map(([name, { digest }]) => [name, digest])),
    ...(entry.isPinned && { pinned: true }),
    server: {
      kind: 'mcp', name: entry.name, address: entry.address,
      tools: new Map([...byName].map(([name, tool]) => [name, tool.name])),
      ...unconfinedOf(entry.config),
    },
    manifest: {
      kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*',
      id: entry.extensionId, version: versionOf(catalog, entry), title: `MCP server ${entry.name}`,
      tools: tools.map(({ manifest }) => manifest),
      // For prompts, `explain` and the redaction of the audit. The server gets placeholders.
      ...(entry.config.type === 'local' && entry.config.keys && { secrets: [...givenTo(entry.config).secrets ?? []] }),
    },
    module: (names) => ({
      ...phases, tools: Object.fromEntries(names.map((name) => [name, executorOf(byName.get(name)!)])),
    }),
  }
  return { extension, diagnostics }
}

/** Includes the list of tools and the timeout, so that the version changes with them. */
const versionOf = (catalog: Catalog, { config: { timeoutMs } }: ServerEntry): string =>
  versionFrom(catalog.version, [catalogDigest(catalog), `${timeoutMs ?? ''}`])

interface ToolManifest {
  readonly manifest: ManifestInput['tools'][number]
  /** What was converted in its schemas. */
  readonly repaired: readonly string[]
}

function toolManifest(name: string, { definition }: CatalogTool, { config }: ServerEntry): ToolManifest {
  const { title, description, inputSchema, outputSchema, annotations } = definition
  const input = isJsonObject(inputSchema) ? repairedSchema(inputSchema) : undefined
  const output = isJsonObject(outputSchema) ? repairedSchema(outputSchema) : undefined
  const label = textOf(title) ?? (isJsonObject(annotations) ? textOf(annotations['title']) : undefined)
  const manifest: ToolManifest['manifest'] = {
    name,
    ...labelOf(label),
    description: cut(textOf(description) ?? 'MCP tool (no description)', MANIFEST_LIMITS.descriptionChars),
    inputSchema: toolSchema(input?.schema),
    ...(output && { outputSchema: plainSchema(output.schema) }),
    requires: powersOf(config),
    // Annotations of a server, such as readOnlyHint, are untrusted and loosen nothing.
    gated: true, mode: config.type === 'local' ? 'local' : 'external', idempotent: false,
    timeoutMs: Math.min(config.timeoutMs ?? CALL_LIMITS.defaultTimeoutMs, CALL_LIMITS.maxTimeoutMs),
  }
  return { manifest, repaired: [...new Set([...input?.repaired ?? [], ...output?.repaired ?? []])] }
}

const CURE = 'Report it to the author of the server.'

/**
 * The permissions of the tools of a server, for rules, ceilings and prompts. A remote server can do anything with the
 * data it receives.
 */
export function powersOf(config: ServerEntry['config']): RequirementSet {
  if (config.type === 'remote') {
    return { net: { hosts: [hostOf(config.url)] }, capabilities: ['interact'] }
  }
  return { ...localPowers(config), capabilities: ['interact'] }
}

/** The variables and secrets that a server is given. */
export const givenTo = (config: ServerEntry['config']): ExtensionPower => config.type === 'local'
  ? localGiven(config)
  : {
    secrets: [
      ...Object.values(config.headers ?? {}).map(({ secret }) => ({ name: secret, hosts: [hostOf(config.url)] })),
      // The server names its authorization server.
      ...config.oauth?.clientSecret ? [{ name: config.oauth.clientSecret.secret, hosts: ['*'] }] : [],
    ],
  }

const hostOf = (url: string): string => new URL(url).host.toLowerCase()
