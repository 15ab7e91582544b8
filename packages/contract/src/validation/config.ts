import { z } from 'zod'
import {
  CALL_LIMITS, COMPARTMENT_LIMITS, LONGEST_TIMER_MS, POOL_LIMITS, type CompartmentLimits,
} from '../model/limits.ts'
import { NPM_NAME_CHARS, NPM_NAME_PATTERN, PLACEMENTS, SECURITY_MODES } from '../model/names.ts'
import { retries, treatment } from './call-settings.ts'
import { commands } from './commands.ts'
import { extensionId, headerName, secretName, toolName, webUrl } from './fields.ts'
import { languageServer, localServer } from './local-servers.ts'
import { budgetLimits, commandSafetyConfigSchema, learnSettings, packagePolicy, perLayer, ruleSchema, runsOn } from './policy.ts'
import { search } from './search.ts'
import { auditSettings, storeSettings } from './store.ts'

/** Third-party code never runs inline. No configuration file can change that. */
const thirdPartyPlacement = z.enum(['thread', 'process'])
const OF_THREADS = 'A thread shares the process of the host: no wall is around it, and its memory outside the heap, such as array '
  + 'buffers, is not bounded.'
const packageName = z.string().max(NPM_NAME_CHARS)
  .regex(NPM_NAME_PATTERN, 'the name of an npm package, such as weather or @acme/weather')
const positive = z.int().positive()
/** A longer timer of the platform would fire at once. */
const bound = positive.max(LONGEST_TIMER_MS)
const timeoutMs = positive.max(CALL_LIMITS.maxTimeoutMs).optional()
  .describe(`Deadline of a call, in milliseconds, up to ${CALL_LIMITS.maxTimeoutMs}.`)

const limits = z.strictObject(Object.fromEntries(
  Object.entries(COMPARTMENT_LIMITS).map(([name, { meaning }]) => [name, bound.optional().describe(meaning)]),
) as Record<keyof CompartmentLimits, z.ZodOptional<typeof bound>>)

const toolConfig = z.looseObject({
  enabled: z.boolean().optional().describe('Whether the tool is offered.'),
  timeoutMs,
}).describe(
  'Configuration of one tool: its own keys, enabled, timeoutMs, maxTimeoutMs (the longest timeout_ms of a call of bash '
  + 'or test_runner), maxOutput (how much of a result the model sees, such as 200KB) and maxEntries (of each list). An '
  + 'unknown key has no effect and is reported.',
)

const extensionConfig = z.strictObject({
  enabled: z.boolean().optional().describe('Whether the extension is loaded.'),
  isolation: thirdPartyPlacement.optional().describe(`Where its code runs. ${OF_THREADS}`),
  activation: z.enum(['first-call', 'eager']).optional()
    .describe('Whether it starts with its first call or with the host.'),
  config: z.record(z.string(), z.json()).optional()
    .describe(
      'Configuration of the extension, by its configSchema. The common keys of tools.<name> apply to each of its tools '
      + 'without an own value, unless the configSchema defines them itself.',
    ),
  limits: limits.optional().describe('Bounds on its compartment.'),
  compartments: positive.max(64).optional()
    .describe('How many compartments share its calls. Only for an extension that keeps nothing between calls.'),
  runsOn: runsOn.optional().describe(
    'Calls of its tools run on a worker with all of these labels. Needs a store in PostgreSQL. Of no effect in the '
    + 'configuration of a project.',
  ),
}).describe('Settings of one extension.')

const remoteCall = {
  enabled: z.boolean().optional().describe('Whether its tools are offered.'),
  timeoutMs,
}

const mcpServer = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('local').describe('A process that the host starts and talks to over its standard streams.'),
    ...localServer.shape,
    command: localServer.shape.command.describe(
      'The executable and its arguments. In your own configuration {home}, at the start of a word here or of a path in '
      + '`requires`, is the home of Bulkhead.',
    ),
    ...remoteCall,
  }),
  z.strictObject({
    type: z.literal('remote').describe('A server that is reached over HTTP.'),
    url: webUrl.describe('Its address.'),
    headers: z.record(headerName, z.strictObject({ secret: secretName })).optional()
      .describe('Headers whose values are secrets.'),
    oauth: z.strictObject({
      clientId: z.string().min(1).max(2048).optional()
        .describe(
          'The id of a client that is registered at the authorization server, or the https URL of its client metadata '
          + 'document. Default: a client is registered with the first sign-in.',
        ),
      clientSecret: z.strictObject({ secret: secretName }).optional().describe('The secret of that client.'),
      scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'an OAuth scope')).max(64).optional()
        .describe('The scopes to ask for. Default: those that the server demands.'),
    }).optional().describe('How to sign in, if the server uses OAuth. Sign in with `bulkhead mcp login NAME`.'),
    ...remoteCall,
  }),
])

const userName = z.string().max(256).regex(/^[\x20-\x39\x3b-\x7e]*$/, 'a user name without a colon')
  .describe('The user name of basic credentials. Without it the secret is the user name, and the password is empty.')
const clientId = z.string().min(1).max(256).regex(/^[\x21-\x39\x3b-\x7e]+$/, 'a client id without a colon')
  .describe('The id of the OAuth client. The secret is its client secret.')
const tokenUrl = webUrl.describe('Where tokens are fetched. Default: as in the document, if it is on the host of baseUrl.')
const scopes = z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope')).max(64)
  .describe('The scopes of the token.')

const openapiAuth = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('bearer').describe('In the header Authorization, after Bearer.'), secret: secretName,
  }),
  z.strictObject({
    type: z.literal('apiKey').describe('In a separate header.'),
    header: headerName.describe('The name of the header, such as X-Api-Key.'),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('queryKey').describe('In the query.'),
    query: z.string().min(1).max(128).describe('The name of the query parameter, such as api_key.'),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('cookieKey').describe('In a cookie.'),
    cookie: headerName.describe('The name of the cookie.'),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('basic').describe('In the header Authorization, as user name and password.'),
    username: userName.optional(),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('oauth2').describe('A token of the OAuth 2.0 flow for client credentials.'),
    clientId, tokenUrl: tokenUrl.optional(), scopes: scopes.optional(),
    secret: secretName,
  }),
])

const openapiCredential = z.strictObject({
  secret: secretName, username: userName.optional(), clientId: clientId.optional(), tokenUrl: tokenUrl.optional(),
  scopes: scopes.optional(),
}).describe('A credential for one security scheme. The document says how it is sent.')

const digest = z.string().regex(/^[0-9a-f]{128}$/, 'a sha512 digest of 128 lower-case hexadecimal digits')
const openapiDocument = z.union([
  z.string().max(4096).regex(
    /^(?![A-Za-z][A-Za-z0-9+.-]*:\/\/)[^\0]+$/,
    'a path; for a document at a URL use { "url", "sha512" }, or download it and give the path of the file',
  ).describe('A path.'),
  z.strictObject({
    url: webUrl.describe('Its address.'),
    sha512: digest.describe('The digest of its bytes. Another content is not used.'),
    parts: z.record(z.string().min(1).max(1024), digest).optional()
      .describe('Digests of the files that it refers to, by their paths relative to it.'),
  }).describe('A document at a URL.'),
  z.strictObject({ text: z.string().describe('JSON or YAML.') }).describe('The text of a document.'),
  z.looseObject({ openapi: z.string().describe('The version of the specification.') }).describe('A document.'),
])

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const

const openapiSource = z.strictObject({
  document: openapiDocument.describe(
    'The document, in JSON or YAML. A path is relative to the project folder, or to the home folder in the '
    + 'configuration of a user.',
  ),
  baseUrl: webUrl.optional()
    .describe('Base URL of the operations. Default: the first server of the document. Required if a secret is sent.'),
  prefix: toolName.optional().describe('Prefix of each tool name, followed by two underscores.'),
  operations: z.array(z.string()).optional().describe('Only these operationIds, or the names of operations without one.'),
  tags: z.array(z.string()).optional().describe('Only operations with one of these tags.'),
  paths: z.array(z.string().regex(/^\//, 'a path that begins with a slash')).optional()
    .describe('Only operations at one of these paths, or below it.'),
  methods: z.array(z.enum(METHODS)).optional().describe('Only operations with one of these methods.'),
  auth: openapiAuth.optional().describe('How requests are authorised.'),
  security: z.record(z.string().min(1).max(128), openapiCredential).optional()
    .describe(
      'Credentials by the name of a security scheme in the document. Each operation gets those that it requires. '
      + 'Instead of auth.',
    ),
  ...remoteCall,
})

const spares = z.int().nonnegative().max(POOL_LIMITS.spares)
const atOnce = positive.max(POOL_LIMITS.most)

const sandbox = z.strictObject({
  idleMs: bound.exactOptional()
    .describe(
      'After how many milliseconds without a call a compartment stops. The next call starts it again. Default: '
      + '300000.',
    ),
  spares: z.strictObject({
    process: spares.exactOptional().describe('Child processes.'),
    thread: spares.exactOptional().describe('Threads.'),
  }).exactOptional().describe(
    `How many spare processes and threads are kept ready, up to ${POOL_LIMITS.spares} of each.`,
  ),
  most: z.strictObject({
    hulls: atOnce.exactOptional().describe('Child processes.'),
    threads: atOnce.exactOptional().describe('Threads.'),
  }).exactOptional().describe(
    `How many processes and threads may exist at once, up to ${POOL_LIMITS.most} of each, spares included. An `
    + 'extension that finds none free waits.',
  ),
  os: z.enum(['auto', 'require']).exactOptional()
    .describe(
      'Isolation of child processes and commands by the operating system. auto: what works on this machine. require: '
      + 'limits, and bubblewrap or Landlock with a system call filter, or nothing runs.',
    ),
})

const approvals = z.strictObject({
  project: z.boolean().exactOptional()
    .describe(
      'Whether approvals can be given for every session of a project, and whether those that were given count. A '
      + 'project can switch it off, never on. Default: false.',
    ),
  sessionMinutes: positive.max(525_600).exactOptional()
    .describe('After how many minutes an approval for the session ends. Default: when the session ends.'),
  projectDays: positive.max(3_650).exactOptional()
    .describe(
      'After how many days an approval for the project ends. A project can lower it, never raise it. Default: 30.',
    ),
})

export const configFileSchema = z.strictObject({
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
  mode: z.enum(SECURITY_MODES).optional().describe(
    'What happens to a gated call whose key is new. learn: it runs under the ceiling in `learn`, and is recorded for '
    + '`bulkhead learn`. A project cannot set learn. Default: ask.',
  ),
  learn: learnSettings.optional().describe('How a policy is learned. Of no effect in the configuration of a project.'),
  allowlist: z.array(z.string().min(1).max(1024)).optional()
    .describe('Entries such as read, mem_*, mcp:github:*, bash:git status or web_fetch:*.example.com, for the mode allowlist.'),
  rules: z.array(ruleSchema).optional().describe('Permission rules of this layer.'),
  roles: z.record(
    z.string().regex(/^allow_[A-Za-z0-9_-]+$/, 'a flag such as allow_bash or allow_bash_reviewer'), z.boolean(),
  )
    .optional().describe('Flags allow_<tool> and allow_<tool>_<role>. A session without a role has the role agent.'),
  approvals: approvals.optional().describe('Which approvals there are, and how long they last.'),
  treatment: treatment.optional()
    .describe('How calls are treated by the mode of their tool. Of no effect in the configuration of a project.'),
  toolsEnabled: z.boolean().optional().describe('false disables every tool.'),
  tools: z.record(toolName, toolConfig).optional().describe('Configuration of tools by name.'),
  extensions: z.record(extensionId, extensionConfig).optional()
    .describe('Settings of extensions, by id.'),
  packages: z.array(packageName).optional().describe('npm packages in node_modules to load extensions from.'),
  isolation: perLayer(z.enum(PLACEMENTS), thirdPartyPlacement).optional()
    .describe(`Where code of each layer runs. ${OF_THREADS}`),
  policy: packagePolicy.optional().describe('What packages must prove before they are used.'),
  mcp: z.record(toolName, mcpServer).optional()
    .describe(
      'MCP servers by name. Their tools are named server_tool. A server is not started or contacted before it is '
      + 'needed.',
    ),
  openapi: z.record(toolName, openapiSource).optional()
    .describe('OpenAPI documents by name. Each operation becomes a tool with its operationId as name, or its method and path.'),
  lsp: z.record(toolName, languageServer).optional()
    .describe('Language servers by name, for the tool lsp. A server is started when the tool is used.'),
  search: search.optional().describe('Settings of web_search.'),
  skills: z.strictObject({
    paths: z.array(z.string()).optional()
      .describe(
        'Further folders with skills, inside the workspace. Those of all files count. They belong to the project.',
      ),
    enabled: z.boolean().optional().describe('Whether skills are offered.'),
  }).optional().describe('Where skills come from.'),
  limits: limits.optional().describe('Bounds on every compartment.'),
  sandbox: sandbox.optional().describe('How many compartments run, and how they are isolated.'),
  commands: commands.optional()
    .describe('What commands of tools see and get. Of no effect in the configuration of a project.'),
  retries: retries.optional().describe('When a failed call is tried again.'),
  budget: budgetLimits.optional().describe('The budget of one workflow.'),
  watchdogs: z.strictObject({
    commandSafety: commandSafetyConfigSchema.optional()
      .describe('Compares the commands of shell tools with patterns of dangerous commands.'),
  }).optional().describe('Built-in watchdogs.'),
  guards: z.strictObject({
    pre: z.array(z.string().min(1).max(128)).optional().describe('Guards that run before the call.'),
    post: z.array(z.string().min(1).max(128)).optional().describe('Guards that run after the call.'),
  }).optional().describe('The order of guards, by id. Other guards follow in the order of their registration.'),
  audit: auditSettings.optional().describe('The record of decisions and calls.'),
  record: z.boolean().optional()
    .describe(
      'Whether arguments and outcomes of calls are kept, without secrets, so that `bulkhead replay` can show and repeat a '
      + 'session. Of no effect in the configuration of a project. Default: false.',
    ),
  store: storeSettings.optional()
    .describe('Where approvals, state and the audit are kept. Of no effect in the configuration of a project.'),
})

/** One MCP server. */
export type McpServerConfig = z.output<typeof mcpServer>
/** One OpenAPI document. */
export type OpenapiConfig = z.output<typeof openapiSource>
/** The configuration of one layer. */
export type ConfigFile = z.output<typeof configFileSchema>
export type ExtensionConfig = z.output<typeof extensionConfig>
export type ToolConfig = z.output<typeof toolConfig>
