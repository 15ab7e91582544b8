import { z } from 'zod'
import { anySchema, configSchema, objectSchema } from './fields.ts'
import { MANIFEST_LIMITS } from '../model/limits.ts'
import { ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, TOOL_NAME_PATTERN } from '../model/names.ts'
import { requirementSet } from '../policy/requirements.ts'
import { refuseStraySecrets, secretManifest } from './secrets.ts'
import { byteSize } from './size.ts'
import { TOOL_KINDS, TOOL_MODES } from '../policy/tool-mode.ts'

export const MANIFEST_FILE = 'bulkhead.json'

const number = '(?:0|[1-9]\\d*)'
const prereleasePart = `(?:${number}|\\d*[A-Za-z-][0-9A-Za-z-]*)`
const exactVersion = z.string().max(64).regex(new RegExp(`^${number}\\.${number}\\.${number}$`), 'a version such as 1.0.0')
const prerelease = `(?:-${prereleasePart}(?:\\.${prereleasePart})*)?`
const build = '(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?'
/** A version as semver writes it, in full. */
export const packageVersion = z.string().max(256)
  .regex(new RegExp(`^${number}\\.${number}\\.${number}${prerelease}${build}$`), 'a version such as 1.4.0')
// Every segment but the leading dot is a name: neither empty, nor . or .., nor with a back-slash, a colon or a control character.
const containedPath = z.string().max(512).regex(
  /^\.(?:\/(?!\.\.?(?:\/|$))[^/\\:\p{Cc}]+)*\/[^/\\:\p{Cc}]+\.m?js$/u,
  'a path inside the package to an ES module, such as ./dist/index.js',
)

export const toolManifest = z.strictObject({
  name: z.string().regex(TOOL_NAME_PATTERN, 'a letter, then up to 63 letters, digits, _ or -').describe('The name a model calls.'),
  label: z.string().min(1).max(128).optional().describe('The name a person reads.'),
  description: z.string().min(1).max(MANIFEST_LIMITS.descriptionChars).describe('What a model reads to decide whether to call.'),
  inputSchema: objectSchema.describe('JSON Schema (2020-12) of the arguments, of type object.'),
  outputSchema: anySchema.optional().describe('JSON Schema (2020-12) of the result: told to the model, never enforced.'),
  requires: requirementSet.default({}).describe('What the tool needs of the world. Nothing else is given.'),
  gated: z.boolean().default(true).describe('Whether the approval stack runs. false is honoured only where requires has no effects.'),
  approvalKey: z.string().min(1).max(512).optional()
    .describe('Template of the approval key over the arguments, such as "{city}". Without it, and without deriveApprovalKey in code, the key is the name of the tool.'),
  mode: z.enum(TOOL_MODES).optional().describe('How the tool acts; told from name and requirements when absent.'),
  kind: z.enum(TOOL_KINDS).optional().describe('How an editor shows the call.'),
  idempotent: z.boolean().default(false).describe('Whether repeating a call does no harm, so that it may be tried again.'),
  timeoutMs: z.int().min(1).max(3_600_000).optional().describe('Deadline of a call, in milliseconds.'),
  maxEntries: z.int().min(1).max(100_000).optional()
    .describe('How many entries of each list in a result are given to the model; the rest goes to a file.'),
  maxOutput: byteSize.optional().describe('What of a result is given to the model, 200KB unless given; the rest goes to a file.'),
})

const cardinality = z.union([
  z.enum(['unlimited', 'one']),
  z.strictObject({ kind: z.literal('n').describe('At most n.'), n: z.int().positive().describe('How many.') }),
])

const stateSlot = z.strictObject({
  slotVersion: z.string().min(1).max(64).describe('Version of the form of the state.'),
  schema: anySchema.describe('JSON Schema (2020-12) of the state.'),
  driftPolicy: z.enum(['migrate', 'warn', 'reject']).default('reject').describe('What happens to a stored state of another version.'),
})

function refuseSameNames(tools: readonly { readonly name: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>()
  tools.forEach(({ name }, index) => {
    const message = `another tool of this manifest is called ${name} too`
    if (seen.has(name)) context.addIssue({ code: 'custom', path: [index, 'name'], message })
    seen.add(name)
  })
}

export const manifestSchema = z.strictObject({
  $schema: z.string().optional().describe('Where the JSON Schema of this file is, for editors.'),
  kind: z.literal('Tool').describe('What the extension extends.'),
  contractVersion: exactVersion.describe('The contract this manifest is written for.'),
  requiredCoreVersion: z.string().min(1).max(256).describe('The range of host versions it runs on, such as ^1.0.0.'),
  id: z.string().regex(EXTENSION_ID_PATTERN, 'a lower-case letter, then up to 63 lower-case letters, digits or -').describe('The id of the extension.'),
  version: packageVersion.describe('The version of the extension.'),
  title: z.string().min(1).max(128).optional().describe('The name of the extension that a person reads.'),
  description: z.string().max(MANIFEST_LIMITS.descriptionChars).optional().describe('What the extension is for, for people.'),
  main: containedPath.default('./index.js').describe('The ES module whose default export is the extension.'),
  configSchema: configSchema.default({ type: 'object', additionalProperties: false, properties: {} })
    .describe('JSON Schema (2020-12) of the configuration, closed. enabled and timeoutMs are accepted besides.'),
  stateSlot: z.union([z.null(), z.literal('none').transform(() => null), stateSlot]).default(null).describe('The state the extension keeps, or null.'),
  loadedCardinality: cardinality.default('unlimited').describe('How many generations may be loaded at once.'),
  activeCardinality: z.enum(['unlimited', 'one', 'one-attached']).default('unlimited').describe('How many may be active at once.'),
  discoveryRules: z.strictObject({
    folder: z.literal('tools').default('tools').describe('The folder of a layer it is looked for in.'),
    activation: z.enum(['first-call', 'eager']).default('first-call')
      .describe('Whether it is started by its first call or with the host.'),
  }).prefault({}).describe('Where it is found and when it is started.'),
  reloadBehavior: z.enum(['in-turn', 'between-turns', 'never']).default('between-turns').describe('When a changed version may take over.'),
  env: z.array(z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')).max(64).default([])
    .describe('Names of environment variables it may read. There is no reading in bulk.'),
  secrets: z.array(secretManifest).max(16).default([])
    .describe('Secrets it may use without seeing them, each for hosts and commands it names. Its code gets handles, never values.'),
  dependsOn: z.array(z.string().regex(EXTENSION_ID_PATTERN)).max(64).default([]).describe('Ids of extensions that start before it.'),
  tools: z.array(toolManifest).min(1).max(MANIFEST_LIMITS.tools).superRefine(refuseSameNames)
    .describe('The tools it offers, each under a name of its own.'),
  _meta: z.record(z.string(), z.json()).optional().describe('For others, by reverse domain name. Bulkhead does not read it.'),
}).superRefine(refuseStraySecrets)

/** A manifest after validation, defaults filled in. */
export type Manifest = z.output<typeof manifestSchema>
/** A manifest as it is written. */
export type ManifestInput = z.input<typeof manifestSchema>
export type ToolManifest = z.output<typeof toolManifest>
export type StateSlot = z.output<typeof stateSlot>
