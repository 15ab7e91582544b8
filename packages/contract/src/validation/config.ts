import { z } from 'zod'
import { commandSafetyConfigSchema } from './policy.ts'
import { CALL_LIMITS, COMPARTMENT_LIMITS, type CompartmentLimits } from '../model/limits.ts'
import { ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, HEADER_NAME_PATTERN, TOOL_NAME_PATTERN, type Layer } from '../model/names.ts'
import { LONGEST_TIMER_MS } from '../ports/clock.ts'
import { PLACEMENTS } from '../ports/sandbox.ts'
import { ceilingSet } from '../policy/power.ts'
import { ruleSchema } from '../policy/rules.ts'

export const CONFIG_FILE = 'config.json'
export const SECURITY_MODES = ['ask', 'allowlist', 'yolo'] as const
/** ask: a new key asks a person. allowlist: listed keys pass, others ask. yolo: ask becomes allow, and nothing else. */
export type SecurityMode = (typeof SECURITY_MODES)[number]

const placement = z.enum(PLACEMENTS)
/** Strangers never run inline, whatever a file says. */
const strangerPlacement = z.enum(['thread', 'process'])
const toolName = z.string().regex(TOOL_NAME_PATTERN, 'a letter, then up to 63 letters, digits, _ or -')
const envName = z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')
const headerName = z.string().regex(HEADER_NAME_PATTERN, 'the name of a header')
const secretName = envName.describe('Name of an environment variable. Values are never written here.')
const packageName = z.string().max(214)
  .regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, 'the name of an npm package, such as weather or @acme/weather')
const policyLevel = z.enum(['require', 'warn', 'off'])
const positive = z.int().positive()
/** A timer of the platform that is asked for more rings at once. */
const bound = positive.max(LONGEST_TIMER_MS)
const webUrl = z.url().regex(/^https?:\/\//, 'an http or https URL')

const limits = z.strictObject(Object.fromEntries(
  Object.entries(COMPARTMENT_LIMITS).map(([name, { meaning }]) => [name, bound.optional().describe(meaning)]),
) as Record<keyof CompartmentLimits, z.ZodOptional<typeof bound>>)

const toolConfig = z.looseObject({
  enabled: z.boolean().optional().describe('Whether the tool is offered.'),
  timeoutMs: positive.optional().describe('Deadline of a call, in milliseconds.'),
}).describe('Configuration of one tool: its own keys, enabled, timeoutMs.')

const extensionConfig = z.strictObject({
  enabled: z.boolean().optional().describe('Whether the extension is loaded.'),
  isolation: strangerPlacement.optional().describe('Where its code runs.'),
  activation: z.enum(['first-call', 'eager']).optional().describe('Whether it is started by its first call or with the host.'),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of the extension, by its configSchema. enabled and timeoutMs hold for each of its tools whose own entry says nothing, unless the configSchema has them itself.'),
  limits: limits.optional().describe('Bounds on its compartment.'),
  compartments: positive.max(64).optional()
    .describe('Over how many compartments its calls are spread. Only for an extension that keeps nothing between calls.'),
}).describe('What the operator says of one extension.')

const identity = z.strictObject({
  issuer: z.string().optional().describe('Who vouches for the signer: the issuer of the certificate.'),
  repository: z.string().optional().describe('The repository it must be built from.'),
  workflow: z.string().optional().describe('The workflow it must be built by.'),
  ref: z.string().optional().describe('The branch or tag it must be built from.'),
}).describe('Who must have signed.')

const perLayer = <Ours extends z.ZodType, Strangers extends z.ZodType>(ours: Ours, strangers: Strangers) => z.strictObject({
  bundled: ours.optional().describe('For what ships with the host.'),
  global: strangers.optional().describe('For what the user installed.'),
  project: strangers.optional().describe('For what the project brings.'),
} satisfies Record<Layer, z.ZodType>)

const widening = z.enum(['refuse', 'consent', 'major'])
  .describe('What an update that wants more powers needs: a person, a new major version and a person (the default), or it is refused.')

const policy = z.strictObject({
  integrity: perLayer(policyLevel, policyLevel).omit({ bundled: true }).optional()
    .describe('Whether packages must carry an integrity file. What ships with the host always must.'),
  signature: perLayer(policyLevel, policyLevel).optional().describe('Whether packages must be signed.'),
  identities: z.record(z.string(), identity).optional()
    .describe('Pinned signers by extension id, the beginning of one with * behind it, or npm scope. The narrowest key counts.'),
  lock: perLayer(policyLevel, policyLevel).omit({ bundled: true }).optional()
    .describe('Whether a package must be signed or accepted in bulkhead.lock. By default warn for global, and require for a project that has a lock.'),
  scopes: z.record(
    z.string().regex(/^(?:@[a-z0-9~-][a-z0-9._~-]{0,212}|[a-z][a-z0-9-]{0,63}\*?)$/, 'an extension id, the beginning of one with * behind it, or an npm scope such as @acme'),
    z.strictObject({
      integrity: policyLevel.optional().describe('Whether they must carry an integrity file.'),
      signature: policyLevel.optional().describe('Whether they must be signed.'),
      lock: policyLevel.optional().describe('Whether they must be signed or accepted in bulkhead.lock.'),
      widening: widening.optional(),
    }),
  ).optional().describe('What holds for some packages instead of what holds for their layer. The narrowest key counts.'),
  update: z.strictObject({ widening: widening.optional() }).optional().describe('How updates are judged.'),
  ceiling: ceilingSet.optional().describe('The most any tool may be granted. What it does not name is not granted.'),
})

const remoteCall = {
  enabled: z.boolean().optional().describe('Whether its tools are offered.'),
  timeoutMs: positive.optional().describe('Deadline of a call, in milliseconds.'),
}

const mcpServer = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('local').describe('A process that is started here and speaks over its standard streams.'),
    command: z.array(z.string()).min(1).describe('The executable and its arguments.'),
    env: z.array(envName).optional().describe('Names of environment variables the process is given, besides those that say where programs, settings and language are.'),
    ...remoteCall,
  }),
  z.strictObject({
    type: z.literal('remote').describe('A server that is reached over HTTP.'),
    url: webUrl.describe('Where it is.'),
    headers: z.record(headerName, z.strictObject({ secret: secretName })).optional().describe('Headers with secrets for values.'),
    ...remoteCall,
  }),
])

const openapiAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer').describe('In the header Authorization, after Bearer.'), secret: secretName }),
  z.strictObject({
    type: z.literal('apiKey').describe('In a header of its own.'),
    header: headerName.describe('Its name, such as X-Api-Key.'),
    secret: secretName,
  }),
])

const openapiSource = z.strictObject({
  document: z.string().max(4096).regex(/^(?![A-Za-z][A-Za-z0-9+.-]*:\/\/)[^\0]+$/, 'a path; fetch a document that is elsewhere, and name the file')
    .describe('Path of the document, in JSON or YAML: from the folder of the project, or from the home for what the user names.'),
  baseUrl: webUrl.optional().describe('Where the operations are reached; by default the first server of the document. Needed where a secret is sent.'),
  prefix: toolName.optional().describe('Put in front of the name of each tool, with two underscores between.'),
  operations: z.array(z.string()).optional().describe('Only these operationIds.'),
  tags: z.array(z.string()).optional().describe('Only operations with one of these tags.'),
  paths: z.array(z.string().regex(/^\//, 'a path that begins with a slash')).optional().describe('Only operations at one of these paths, or below it.'),
  auth: openapiAuth.optional().describe('How requests are authorised.'),
  ...remoteCall,
})

const search = z.strictObject({
  providers: z.array(z.strictObject({
    type: z.enum(['searxng', 'json']).describe('What the provider speaks.'),
    url: webUrl.describe('Where it is; {query} stands for the query.'),
    secret: secretName.optional(),
    resultsPath: z.string().optional().describe('JSON Pointer to the list of results.'),
  })).optional().describe('Providers; each session uses one of them throughout.'),
  callsPerSession: positive.optional().describe('Searches one session may make.'),
  timeoutMs: positive.max(CALL_LIMITS.maxTimeoutMs).optional().describe('Deadline of a search, in milliseconds.'),
})

const sandbox = z.strictObject({
  idleMs: positive.exactOptional().describe('After how many milliseconds without a call a compartment is given back, 300000 unless given. The next call wakes it.'),
  spares: z.strictObject({
    process: z.int().nonnegative().exactOptional().describe('Child processes.'),
    thread: z.int().nonnegative().exactOptional().describe('Threads.'),
  }).exactOptional().describe('How many places wait ready for their extension.'),
  most: z.strictObject({
    hulls: positive.exactOptional().describe('Child processes.'),
    threads: positive.exactOptional().describe('Threads.'),
  }).exactOptional().describe('How many places there are at once, spares among them. What finds none waits for one.'),
  os: z.enum(['auto', 'require']).exactOptional()
    .describe('What the operating system adds around child processes and commands: what works on this machine, or all of it or nothing runs.'),
})

const approvals = z.strictObject({
  sessionMinutes: positive.max(525_600).exactOptional()
    .describe('After how many minutes an approval for the session ends. By default with the session.'),
  projectDays: positive.max(3_650).exactOptional()
    .describe('After how many days an approval for the project ends: 30 by default. A project can make it fewer, never more.'),
})

export const configFileSchema = z.strictObject({
  $schema: z.string().optional().describe('Where the JSON Schema of this file is, for editors.'),
  mode: z.enum(SECURITY_MODES).optional().describe('What happens to a gated call whose key is new; ask where nobody says.'),
  allowlist: z.array(z.string().min(1).max(1024)).optional()
    .describe('Entries such as read, bash:git status or web_fetch:*.example.com, for the mode allowlist.'),
  rules: z.array(ruleSchema).optional().describe('Permission rules of this layer.'),
  roles: z.record(z.string().regex(/^allow_[A-Za-z0-9_-]+$/, 'a flag such as allow_bash or allow_bash_reviewer'), z.boolean())
    .optional().describe('Flags allow_<tool> and allow_<tool>_<role>.'),
  approvals: approvals.optional().describe('How long approvals last.'),
  toolsEnabled: z.boolean().optional().describe('false switches every tool off.'),
  tools: z.record(toolName, toolConfig).optional().describe('Configuration of tools by name.'),
  extensions: z.record(z.string().regex(EXTENSION_ID_PATTERN, 'an extension id'), extensionConfig).optional()
    .describe('What the operator says of extensions, by id.'),
  packages: z.array(packageName).optional().describe('npm packages in node_modules to load extensions from.'),
  isolation: perLayer(placement, strangerPlacement).optional().describe('Where code of each layer runs.'),
  policy: policy.optional().describe('What packages must prove before they are used.'),
  mcp: z.record(toolName, mcpServer).optional().describe('MCP servers by name. Their tools are called server_tool; nothing is started or reached before it is needed.'),
  openapi: z.record(toolName, openapiSource).optional().describe('OpenAPI documents by name. Each operation is a tool, called by its operationId.'),
  search: search.optional().describe('Where web_search searches.'),
  skills: z.strictObject({
    paths: z.array(z.string()).optional().describe('Further folders to look for skills in.'),
    enabled: z.boolean().optional().describe('Whether skills are offered.'),
  }).optional().describe('Where skills come from.'),
  limits: limits.optional().describe('Bounds on every compartment.'),
  sandbox: sandbox.optional().describe('How many compartments there are, and what stands around them.'),
  budget: z.strictObject({
    tokens: positive.optional().describe('Tokens.'),
    calls: positive.optional().describe('Calls of tools.'),
  }).optional().describe('What one workflow may use.'),
  watchdogs: z.strictObject({
    commandSafety: commandSafetyConfigSchema.optional()
      .describe('Holds what tools with a shell would run against patterns of dangerous commands.'),
  }).optional().describe('Watchdogs that come with the host.'),
  guards: z.strictObject({
    pre: z.array(z.string().min(1).max(128)).optional().describe('Before the call runs.'),
    post: z.array(z.string().min(1).max(128)).optional().describe('After it has.'),
  }).optional().describe('In which order guards are heard, by id. Those that are not named come after, as they were registered.'),
  audit: z.strictObject({
    enabled: z.boolean().optional().describe('Whether decisions and calls are recorded; by default where the store outlives the host.'),
    arguments: z.boolean().optional().describe('Whether the arguments of calls are recorded too, and not only their digest: by default they are not.'),
    require: z.boolean().optional()
      .describe('Whether a call is refused unless its decision is recorded first. Records whatever `enabled` says, needs a store that outlives the host, and no later layer turns it off.'),
  }).optional().describe('What is kept of what happened.'),
})

/** One MCP server, as written. */
export type McpServerConfig = z.output<typeof mcpServer>
/** One OpenAPI document, as written. */
export type OpenapiConfig = z.output<typeof openapiSource>
/** One layer's configuration, as written. */
export type ConfigFile = z.output<typeof configFileSchema>
export type ExtensionConfig = z.output<typeof extensionConfig>
export type ToolConfig = z.output<typeof toolConfig>
