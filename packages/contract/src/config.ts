import { z } from 'zod'
import { DEFAULT_LIMITS } from './limits.ts'
import { ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, LAYERS, TOOL_NAME_PATTERN } from './names.ts'
import { PLACEMENTS } from './ports/sandbox.ts'
import { requirementSet } from './requirements.ts'
import { ruleSchema } from './rules.ts'

export const CONFIG_FILE = 'config.json'
export const SECURITY_MODES = ['ask', 'allowlist', 'yolo'] as const
/** ask: a new key asks a person. allowlist: listed keys pass, others ask. yolo: ask becomes allow, and nothing else. */
export type SecurityMode = (typeof SECURITY_MODES)[number]

const placement = z.enum(PLACEMENTS)
/** Strangers never run inline, whatever a file says. */
const strangerPlacement = z.enum(['thread', 'process'])
const toolName = z.string().regex(TOOL_NAME_PATTERN)
const secretName = z.string().regex(ENV_NAME_PATTERN).describe('Name of an environment variable. Values are never written here.')
const policyLevel = z.enum(['require', 'warn', 'off'])
const positive = z.int().positive()

const limits = z.strictObject(Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, positive.optional()])) as
  Record<keyof typeof DEFAULT_LIMITS, z.ZodOptional<typeof positive>>).describe('Bounds on one compartment.')

const toolConfig = z.looseObject({ enabled: z.boolean().optional(), timeoutMs: positive.optional() })
  .describe('Configuration of one tool: its own keys, enabled, timeoutMs.')

const extensionConfig = z.strictObject({
  enabled: z.boolean().optional(),
  isolation: strangerPlacement.optional().describe('Where its code runs.'),
  activation: z.enum(['first-call', 'eager']).optional(),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of the extension, by its configSchema.'),
  limits: limits.optional(),
})

const identity = z.strictObject({
  issuer: z.string().optional(), repository: z.string().optional(), workflow: z.string().optional(), ref: z.string().optional(),
}).describe('Who must have signed.')

const perLayer = <T extends z.ZodType>(schema: T) => z.strictObject({ bundled: schema.optional(), global: schema.optional(), project: schema.optional() })

const policy = z.strictObject({
  integrity: perLayer(policyLevel).optional(),
  signature: perLayer(policyLevel).optional(),
  identities: z.record(z.string(), identity).optional().describe('Pinned signers by extension id or by package scope.'),
  update: z.strictObject({ widening: z.enum(['refuse', 'consent', 'major']).optional() }).optional(),
  ceiling: requirementSet.optional().describe('The most any tool may be granted.'),
})

const mcpServer = z.strictObject({
  type: z.enum(['local', 'remote']),
  command: z.array(z.string()).min(1).optional(),
  url: z.url().optional(),
  headers: z.record(z.string(), z.strictObject({ secret: secretName })).optional(),
  env: z.array(z.string().regex(ENV_NAME_PATTERN)).optional(),
  enabled: z.boolean().optional(),
  timeoutMs: positive.optional(),
})

const openapiSource = z.strictObject({
  document: z.string().min(1),
  baseUrl: z.url().optional(),
  prefix: toolName.optional(),
  operations: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
  auth: z.strictObject({ type: z.enum(['bearer', 'apiKey']), header: z.string().optional(), secret: secretName }).optional(),
  timeoutMs: positive.optional(),
})

const search = z.strictObject({
  providers: z.array(z.strictObject({
    type: z.enum(['searxng', 'json']), url: z.url(), secret: secretName.optional(), resultsPath: z.string().optional(),
  })).optional(),
  callsPerSession: positive.optional(),
  timeoutMs: positive.optional(),
})

export const configFileSchema = z.strictObject({
  $schema: z.string().optional(),
  mode: z.enum(SECURITY_MODES).optional().describe('What happens to a gated call whose key is new.'),
  allowlist: z.array(z.string().min(1).max(1024)).optional().describe('Entries such as read, bash:git status or fetch:*.example.com.'),
  rules: z.array(ruleSchema).optional().describe('Permission rules of this layer.'),
  roles: z.record(z.string().regex(/^allow_[A-Za-z0-9_-]+$/, 'a flag such as allow_bash or allow_bash_reviewer'), z.boolean()).optional()
    .describe('Flags allow_<tool> and allow_<tool>_<role>.'),
  toolsEnabled: z.boolean().optional().describe('false switches every tool off.'),
  tools: z.record(toolName, toolConfig).optional(),
  extensions: z.record(z.string().regex(EXTENSION_ID_PATTERN), extensionConfig).optional(),
  packages: z.array(z.string().min(1).max(214)).optional().describe('npm packages in node_modules to load extensions from.'),
  isolation: z.strictObject(Object.fromEntries(LAYERS.map((layer) => [layer, (layer === 'bundled' ? placement : strangerPlacement).optional()])) as {
    bundled: z.ZodOptional<typeof placement>; global: z.ZodOptional<typeof strangerPlacement>; project: z.ZodOptional<typeof strangerPlacement>
  }).optional().describe('Where code of each layer runs.'),
  policy: policy.optional(),
  mcp: z.record(toolName, mcpServer).optional().describe('MCP servers by name.'),
  openapi: z.record(toolName, openapiSource).optional().describe('OpenAPI documents by name.'),
  search: search.optional(),
  skills: z.strictObject({ paths: z.array(z.string()).optional(), enabled: z.boolean().optional() }).optional(),
  limits: limits.optional(),
  budget: z.strictObject({ tokens: positive.optional(), calls: positive.optional() }).optional().describe('What one workflow may use.'),
  audit: z.strictObject({ enabled: z.boolean().optional(), arguments: z.boolean().optional() }).optional(),
})

/** One layer's configuration, as written. */
export type ConfigFile = z.output<typeof configFileSchema>
export type ExtensionConfig = z.output<typeof extensionConfig>
export type ToolConfig = z.output<typeof toolConfig>
