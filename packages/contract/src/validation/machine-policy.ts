import { z } from 'zod'
import { COMMAND_SEVERITIES, TOOL_MODES, type ToolMode } from '../model/names.ts'
import { commands } from './commands.ts'
import { configFileSchema } from './config.ts'
import { extensionId, toolName } from './fields.ts'
import { commandSafetyConfigSchema, onlyAsks, packagePolicy, ruleFields } from './policy.ts'
import { storeSettings } from './store.ts'

const off = z.strictObject({ enabled: z.literal(false).describe('The only value.') })
const required = z.literal('require').optional()
const requiredFor = z.strictObject({
  global: required.describe('For extensions that users install.'),
  project: required.describe('For extensions of projects.'),
}).optional()
const treated = z.enum(['ask', 'gate']).exactOptional()

const widening = z.enum(['refuse', 'major']).optional()
  .describe('The least that an update which wants more powers needs.')

/**
 * The policy of a machine. It has the keys of a configuration that can restrict, with the values that do. No other
 * layer can loosen it.
 */
export const machinePolicySchema = z.strictObject({
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
  mode: z.enum(['ask', 'allowlist', 'learn']).optional()
    .describe('The loosest mode. It replaces a looser one: with learn, yolo is learn, under its ceiling.'),
  rules: z.array(onlyAsks(ruleFields.extend({
    action: z.enum(['ask', 'deny']).describe('A deny is final. What asks is asked in every mode.'),
  }))).optional().describe('What no tool may do, or only with the approval of a person.'),
  approvals: configFileSchema.shape.approvals.unwrap().extend({
    project: z.literal(false).exactOptional().describe('The only value: no approval lasts longer than its session.'),
  }).optional().describe('The longest that approvals last.'),
  treatment: z.strictObject(Object.fromEntries(
    TOOL_MODES.map((mode) => [mode, treated.describe(`The loosest treatment of tools of the mode ${mode}.`)]),
  ) as Record<ToolMode, typeof treated>).optional().describe('How calls are treated by the mode of their tool.'),
  toolsEnabled: z.literal(false).optional().describe('false disables every tool.'),
  tools: z.record(toolName, off).optional().describe('Tools that are not offered.'),
  extensions: z.record(extensionId, off).optional().describe('Extensions that are not loaded.'),
  isolation: z.strictObject({
    global: z.literal('process').optional().describe('For extensions that users install.'),
    project: z.literal('process').optional().describe('For extensions of projects.'),
  }).optional().describe('Where code runs, whatever the configuration of an extension says.'),
  policy: z.strictObject({
    integrity: requiredFor.describe('Packages must carry an integrity file.'),
    signature: requiredFor.describe('Packages must be signed.'),
    lock: requiredFor.describe('Packages must be signed or accepted in bulkhead.lock.'),
    identities: packagePolicy.shape.identities,
    scopes: z.record(z.string(), z.strictObject({
      integrity: required, signature: required, lock: required, widening,
    })).optional().describe('The policy of some packages, by id, id prefix followed by *, or npm scope.'),
    update: z.strictObject({ widening }).optional().describe('The policy for updates.'),
    conformance: packagePolicy.shape.conformance.unwrap().extend({
      require: z.literal(true).optional().describe('An installation needs an attestation that the package conforms.'),
    }).optional().describe('Proof of conformance. Signers of other layers must be in this list as well.'),
    ceiling: packagePolicy.shape.ceiling.describe('The most any tool may be granted. Other ceilings apply as well.'),
  }).optional().describe('What packages must prove before they are used.'),
  sandbox: z.strictObject({ os: z.literal('require').exactOptional().describe('The only value.') }).optional()
    .describe('All isolation by the operating system, or nothing runs.'),
  record: z.boolean().optional().describe('true: every session is recorded. false: none is.'),
  store: storeSettings.optional().describe('Where every host of this machine keeps approvals, state and the audit.'),
  commands: z.strictObject({
    read: commands.shape.read.describe('The most that configurations may name. What is not inside is left out.'),
    env: z.strictObject({
      pass: commands.shape.env.unwrap().shape.pass.describe('The most that configurations may name.'),
      set: commands.shape.env.unwrap().shape.set.describe('Values that no configuration changes.'),
    }).exactOptional().describe('The environment of commands.'),
    keys: commands.shape.keys.describe(
      'The most that configurations may name: keys with the same host and header, and with these methods and paths.',
    ),
  }).optional().describe('What commands of tools see and get.'),
  watchdogs: z.strictObject({
    commandSafety: z.strictObject({
      enabled: z.literal(true).optional().describe('Commands are compared with the patterns.'),
      severity: z.record(z.string(), z.enum(COMMAND_SEVERITIES)).optional()
        .describe('The least severity of patterns, by id.'),
      patterns: commandSafetyConfigSchema.shape.patterns,
    }).optional().describe('Compares the commands of shell tools with patterns of dangerous commands.'),
  }).optional().describe('Built-in watchdogs.'),
  audit: z.strictObject({
    enabled: z.literal(true).optional().describe('Decisions and calls are recorded.'),
    require: z.literal(true).optional().describe('A call is refused unless its decision is recorded first.'),
  }).optional().describe('The record of decisions and calls.'),
})
