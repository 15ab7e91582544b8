import parse from 'semver/functions/parse.js'
import satisfies from 'semver/functions/satisfies.js'
import { z } from 'zod'
import { CALL_LIMITS, MANIFEST_LIMITS } from '../model/limits.ts'
import {
  CONTRACT_VERSION, DIALECTS, EXTENSION_ID_PATTERN, RULE_CAPABILITIES, TOOL_EFFECTS, TOOL_KINDS,
  TOOL_MODES,
} from '../model/names.ts'
import { MOST_ENTRIES } from '../model/sizes.ts'
import {
  anySchema, byteSize, configSchema, envName, exactVersion, objectSchema, packageVersion, toolName,
} from './fields.ts'
import { checkSecrets, requirementSet, secretManifest } from './requirements.ts'

// Each segment is a name: not empty, not . or .., and without a backslash, a colon or a control character.
const containedPath = z.string().max(512).regex(
  /^\.(?:\/(?!\.\.?(?:\/|$))[^/\\:\p{Cc}]+)*\/[^/\\:\p{Cc}]+\.m?[jt]s$/u,
  'a path inside the package to an ES module, such as ./index.js or ./index.ts',
)

const toolExample = z.strictObject({
  arguments: z.record(z.string(), z.json()).describe('Arguments of the call. They must match the inputSchema.'),
  result: z.json().optional()
    .describe('The expected result. Members of an object that are not named here may have any value.'),
  error: z.string().min(1).max(64).optional().describe('The code of the expected error, such as NotFound.'),
}).refine(({ result, error }) => result === undefined || error === undefined, {
  error: 'an example with either a result or an error',
})

const toolManifest = z.strictObject({
  name: toolName.describe('The name that a model calls.'),
  label: z.string().min(1).max(128).optional().describe('The name that a person sees.'),
  description: z.string().min(1).max(MANIFEST_LIMITS.descriptionChars)
    .describe('What a model reads to decide whether to call the tool.'),
  inputSchema: objectSchema.describe('JSON Schema (2020-12) of the arguments, of type object.'),
  outputSchema: anySchema.optional()
    .describe('JSON Schema (2020-12) of the result. A result that satisfies it is data, in whatever form. The host does '
      + 'not enforce it; MCP clients, programs of code_mode and models whose API has a place for it see it.'),
  dialect: z.enum(DIALECTS).optional()
    .describe('The form of another runtime in which the tool returns results. Without it, such a form is read only if '
      + 'there is no outputSchema, and the result has all members that the form requires and no other.'),
  requires: requirementSet.default({}).describe('What the tool needs. It gets nothing else.'),
  gated: z.boolean().default(true)
    .describe('Whether calls need approval. false applies only if the tool has no effects: it cannot write, reach a '
      + 'host, run a command, call tools, get variables or secrets, and names no files with credentials, such as .env.'),
  approvalKey: z.string().min(1).max(512).optional()
    .describe(
      'Template of the approval key over the arguments, such as "{city}". Without it, and without deriveApprovalKey '
      + 'in code, the key is the name of the tool.',
    ),
  touches: z.record(z.string().min(1).max(128), z.enum(RULE_CAPABILITIES)).optional().describe(
    'Arguments that name a path, host or command, such as { "path": "fs.read" }. Rules and the capability check see them '
    + 'before the call. The tool may touch other things that it requires, too.',
  ),
  mode: z.enum(TOOL_MODES).optional().describe(
    'How the tool acts. read applies only to a tool that requires no more than fs.read. Default: derived from name and '
    + 'requirements.',
  ),
  kind: z.enum(TOOL_KINDS).optional().describe('How an editor shows the call.'),
  idempotent: z.boolean().default(false)
    .describe('The same as effects: idempotent.'),
  effects: z.enum(TOOL_EFFECTS).optional().describe(
    'What it means to repeat a call. none: it changes nothing; counts only if the tool requires no more than fs.read, '
    + 'net and interact, and the extension keeps no state, and then requests other than GET and HEAD are denied. '
    + 'idempotent: a repetition changes nothing more. reversible: the code has a revert for it. once: it happens once '
    + 'more, so the host never repeats it by itself. Default: none for a tool that requires no more than fs.read and '
    + 'whose extension keeps no state, else once.',
  ),
  verify: toolName.optional().describe(
    'The tool of this extension that tells whether a call of this one has happened. It must have effects none, and '
    + 'mode read, or external if it requires net. Callers get its name when a call ends with OutcomeUnknown.',
  ),
  timeoutMs: z.int().min(1).max(CALL_LIMITS.maxTimeoutMs).optional().describe('Deadline of a call, in milliseconds.'),
  maxEntries: z.int().min(1).max(MOST_ENTRIES).optional()
    .describe('How many entries of each list in a result the model sees; the rest goes to a file.'),
  maxOutput: byteSize.optional()
    .describe('How much of a result the model sees; the rest goes to a file. Default: 200KB.'),
  examples: z.array(toolExample).max(16).optional()
    .describe('Calls of the tool and how they end. `bulkhead conformance` runs them.'),
})

const cardinality = z.union([
  z.enum(['unlimited', 'one']),
  z.strictObject({ kind: z.literal('n').describe('At most n.'), n: z.int().positive().describe('The number.') }),
])

const stateSlot = z.strictObject({
  slotVersion: z.string().min(1).max(64).describe('Version of the format of the state.'),
  schema: anySchema.describe('JSON Schema (2020-12) of the state.'),
  driftPolicy: z.enum(['migrate', 'warn', 'reject']).default('reject')
    .describe('What happens to stored state of another version.'),
})

function checkTools(tools: readonly z.output<typeof toolManifest>[], context: z.RefinementCtx): void {
  const seen = new Set<string>()
  tools.forEach(({ name, idempotent, effects, verify }, index) => {
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [index, key], message })
    if (seen.has(name)) refuse('name', `another tool of this manifest has the name ${name}`)
    seen.add(name)
    if (idempotent && (effects === 'once' || effects === 'reversible')) {
      refuse('idempotent', `idempotent contradicts effects: ${effects}; remove it`)
    }
    if (verify === undefined) return
    if (verify === name) refuse('verify', 'a tool cannot verify itself')
    else if (!tools.some((other) => other.name === verify)) refuse('verify', `this manifest has no tool ${verify}`)
  })
}

const manifestWith = (mostTools: number) => z.strictObject({
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
  kind: z.literal('Tool').describe('What the extension adds.'),
  contractVersion: exactVersion.describe('The contract version this manifest is written for.'),
  requiredCoreVersion: z.string().min(1).max(256).describe('The range of host versions it runs on, such as ^1.0.0.'),
  id: z.string().regex(EXTENSION_ID_PATTERN, 'a lower-case letter, then up to 63 lower-case letters, digits or -')
    .describe('The id of the extension.'),
  version: packageVersion.describe('The version of the extension.'),
  title: z.string().min(1).max(128).optional().describe('The name of the extension that a person sees.'),
  description: z.string().max(MANIFEST_LIMITS.descriptionChars).optional()
    .describe('What the extension is for, for people.'),
  main: containedPath.default('./index.js').describe(
    'The ES module whose default export is the extension. The source of a package may name a TypeScript module, which '
    + '"bulkhead pack" bundles.',
  ),
  configSchema: configSchema.default({ type: 'object', additionalProperties: false, properties: {} })
    .describe('JSON Schema (2020-12) of the configuration, closed. enabled, timeoutMs, maxTimeoutMs, maxOutput and '
      + 'maxEntries are always accepted.'),
  stateSlot: z.union([z.null(), z.literal('none').transform(() => null), stateSlot]).default(null)
    .describe('The state that the extension keeps, or null.'),
  loadedCardinality: cardinality.default('unlimited').describe('How many generations may be loaded at once.'),
  activeCardinality: z.enum(['unlimited', 'one', 'one-attached']).default('unlimited')
    .describe('How many generations may be active at once.'),
  discoveryRules: z.strictObject({
    folder: z.literal('tools').default('tools').describe('The folder of a layer that contains the extension.'),
    activation: z.enum(['first-call', 'eager']).default('first-call')
      .describe('Whether it starts with its first call or with the host.'),
  }).prefault({}).describe('Where it is found and when it starts.'),
  reloadBehavior: z.enum(['in-turn', 'between-turns', 'never']).default('between-turns')
    .describe('When a changed version may take over.'),
  env: z.array(envName).max(64).default([])
    .describe('Names of environment variables it may read, one by one.'),
  secrets: z.array(secretManifest).max(16).default([])
    .describe(
      'Secrets it may use without seeing them, each for the hosts and commands named here. Its code gets handles, '
      + 'never values.',
    ),
  dependsOn: z.array(z.string().regex(EXTENSION_ID_PATTERN, 'the id of an extension')).max(64).default([])
    .describe('Ids of extensions that start before it.'),
  tools: z.array(toolManifest).min(1).max(mostTools).superRefine(checkTools)
    .describe('The tools of the extension, with distinct names.'),
  _meta: z.record(z.string(), z.json()).optional()
    .describe('Data for other programs, by reverse domain name. Bulkhead does not read it.'),
}).superRefine(checkSecrets)

export const manifestSchema = manifestWith(MANIFEST_LIMITS.tools)
/** For the tools of a server or an API document. */
export const connectedManifestSchema = manifestWith(MANIFEST_LIMITS.connectedTools)

/** A manifest after validation, with defaults. */
export type Manifest = z.output<typeof manifestSchema>
/** A manifest as its author writes it. */
export type ManifestInput = z.input<typeof manifestSchema>
export type ToolManifest = z.output<typeof toolManifest>
export type StateSlot = z.output<typeof stateSlot>

/**
 * Whether a host with contract version `host` runs a manifest written for contract version `manifest`:
 * - The major versions are equal, and the manifest's minor version is not newer. A later minor version only adds
 *   optional fields and codes, so a newer host understands an older manifest. An older host would ignore what a newer
 *   manifest relies on.
 * - Patch versions change no format and do not count.
 * - Before 1.0.0 every minor version is incompatible with the others.
 * - A prerelease is compatible with itself only.
 * - An invalid version is compatible with nothing.
 */
export function contractCompatible(manifest: string, host: string = CONTRACT_VERSION): boolean {
  const wanted = parse(manifest)
  const offered = parse(host)
  if (wanted === null || offered === null) return false
  if (wanted.prerelease.length > 0 || offered.prerelease.length > 0) return wanted.version === offered.version
  if (wanted.major !== offered.major) return false
  return wanted.major === 0 ? wanted.minor === offered.minor : wanted.minor <= offered.minor
}

/** Whether a host version lies in `requiredCoreVersion`. No version satisfies an invalid range. */
export function coreSatisfies(range: string, host: string): boolean {
  return satisfies(host, range, { includePrerelease: false })
}
