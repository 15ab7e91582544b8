import { z } from 'zod'
import { COMMAND_SEVERITIES, RULE_ACTIONS, type CommandSeverity, type Layer } from '../model/names.ts'
import { workerLabel, workspaceName } from './fields.ts'
import { ceilingSet } from './requirements.ts'

/** Where calls run instead of on this machine. */
export const runsOn = z.strictObject({
  labels: z.array(workerLabel).min(1).max(16).describe('What a worker must have, such as gpu or region=eu.'),
  workspace: workspaceName.exactOptional()
    .describe('The name that workers have for the workspace. Needed for tools that use {workspace} or run commands.'),
})

/** The fields of a rule. `onlyAsks` checks what they say together. */
export const ruleFields = z.strictObject({
  permission: z.string().min(1).max(128)
    .describe(
      'A tool name, a tool name ending in *, mcp:server:tool, openapi:document:operationId, a capability such as '
      + 'fs.write, or *.',
    ),
  pattern: z.string().min(1).max(1024).default('*')
    .describe('What the rule applies to: an approval key, a path, a host or a command; * and ** as in paths.'),
  action: z.enum(RULE_ACTIONS).describe('What happens to a matching call.'),
  passkey: z.literal(true).exactOptional()
    .describe('With ask: only a person with a passkey can allow the call, once (`bulkhead passkey`).'),
  runsOn: runsOn.exactOptional().describe(
    'Calls that match run on a worker with all of these labels, or not at all. A rule of a project cannot say it.',
  ),
})

/** A denial needs no passkey, and what a rule allows is not asked. What is denied runs nowhere. */
export const onlyAsks = <
  Fields extends z.ZodType<{ readonly action: string; readonly passkey?: true; readonly runsOn?: object }>,
>(fields: Fields): Fields => fields
    .refine(({ action, passkey }) => passkey === undefined || action === 'ask', {
      path: ['passkey'], error: 'only with the action ask',
    })
    .refine(({ action, runsOn: place }) => place === undefined || action !== 'deny', {
      path: ['runsOn'], error: 'not with the action deny',
    })

export const ruleSchema = onlyAsks(ruleFields)
export type Rule = z.output<typeof ruleSchema>

const positive = z.int().positive()
/** What a workflow or an agent may use. */
export const budgetLimits = z.strictObject({
  tokens: positive.optional().describe('Tokens.'),
  calls: positive.optional().describe('Calls of tools.'),
})

const patternId = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'lower-case letters, digits and -')

export const commandSafetyPatternSchema = z.strictObject({
  id: patternId.describe('The name of the pattern in decisions and in the configuration.'),
  label: z.string().min(1).max(100).describe('What it finds, in a few words.'),
  description: z.string().min(1).max(500).describe('Why that is dangerous.'),
  pattern: z.string().min(1).max(2_000)
    .describe(
      'A regular expression that may match anywhere in a command. RE2 syntax: no look-around, no back references.',
    ),
  category: z.string().min(1).max(50).describe('The resource at risk, such as filesystem or credentials.'),
  severity: z.enum(COMMAND_SEVERITIES).describe('warning asks a person, critical refuses.'),
  platform: z.enum(['all', 'unix', 'windows']).default('all').describe('Where such commands exist.'),
})
/** A form of dangerous command. */
export type CommandSafetyPattern = z.output<typeof commandSafetyPatternSchema>

export const commandSafetyConfigSchema = z.strictObject({
  enabled: z.boolean().optional()
    .describe('Whether commands are compared with the patterns. Default: true. A project cannot disable it.'),
  severity: z.record(patternId, z.enum(['off', ...COMMAND_SEVERITIES])).optional()
    .describe('Another severity for patterns, by id. A project can only raise one.'),
  patterns: z.array(commandSafetyPatternSchema).max(200).optional().describe('Further patterns.'),
})
export type CommandSafetyConfig = z.output<typeof commandSafetyConfigSchema>

export interface CommandClassification {
  /** The severity of the worst rule that matched. */
  readonly severity: CommandSeverity | 'safe'
  readonly matchedRules: readonly CommandSafetyPattern[]
}

/** One value per layer. What ships with the host may have another schema than third-party code. */
export const perLayer = <Bundled extends z.ZodType, Others extends z.ZodType>(
  bundled: Bundled, others: Others,
) => z.strictObject({
  bundled: bundled.optional().describe('For extensions that ship with the host.'),
  global: others.optional().describe('For extensions that the user installed.'),
  project: others.optional().describe('For extensions of the project.'),
} satisfies Record<Layer, z.ZodType>)

const policyLevel = z.enum(['require', 'warn', 'off'])

const identity = z.strictObject({
  issuer: z.string().optional().describe('The issuer of the certificate.'),
  repository: z.string().optional().describe('The repository the package must be built from.'),
  workflow: z.string().optional().describe('The workflow that must build it.'),
  ref: z.string().optional().describe('The branch or tag it must be built from.'),
}).describe('The required signer.')

/** An issuer alone would be everyone who has an account there. */
const attestationSigner = z.union([
  z.strictObject({
    key: z.string().max(1024).regex(/^-----BEGIN PUBLIC KEY-----\n/, 'a public key in PEM')
      .describe('A public key in PEM, Ed25519 or P-256.'),
  }),
  identity.required({ issuer: true, repository: true }),
  identity.required({ issuer: true, workflow: true }),
]).describe('One accepted signer.')

const widening = z.enum(['refuse', 'consent', 'major'])
  .describe(
    'What an update that wants more powers needs. consent: a person. major (the default): a new major version and a '
    + 'person. refuse: it is refused.',
  )

/** The requirements for packages. */
export const packagePolicy = z.strictObject({
  integrity: perLayer(policyLevel, policyLevel).omit({ bundled: true }).optional()
    .describe('Whether packages must carry an integrity file. Packages that ship with the host always must.'),
  signature: perLayer(policyLevel, policyLevel).optional().describe('Whether packages must be signed.'),
  identities: z.record(z.string(), identity).optional()
    .describe('Pinned signers by extension id, id prefix followed by *, or npm scope. The narrowest key applies.'),
  lock: perLayer(policyLevel, policyLevel).omit({ bundled: true }).optional()
    .describe(
      'Whether a package must be signed or accepted in bulkhead.lock. Default: warn for global, require for a '
      + 'project that has a lock.',
    ),
  scopes: z.record(
    z.string().regex(
      /^(?:@[a-z0-9~-][a-z0-9._~-]{0,212}|[a-z][a-z0-9-]{0,63}\*?)$/,
      'an extension id, an id prefix followed by *, or an npm scope such as @acme',
    ),
    z.strictObject({
      integrity: policyLevel.optional().describe('Whether they must carry an integrity file.'),
      signature: policyLevel.optional().describe('Whether they must be signed.'),
      lock: policyLevel.optional().describe('Whether they must be signed or accepted in bulkhead.lock.'),
      widening: widening.optional(),
    }),
  ).optional()
    .describe('The policy of some packages, instead of the policy of their layer. The narrowest key applies.'),
  update: z.strictObject({ widening: widening.optional() }).optional().describe('The policy for updates.'),
  conformance: z.strictObject({
    require: z.boolean().optional()
      .describe(
        'Whether an installation needs an attestation that the package conforms. No later layer can disable it.',
      ),
    signers: z.array(attestationSigner).max(64).optional()
      .describe(
        'Whose attestations count, the publisher\'s own included: each a key (a public key in PEM), or an issuer with a '
        + 'repository or workflow, and optionally a ref. If several layers have this list, the signer must be in each.',
      ),
  }).optional().describe('Proof of conformance: bulkhead conformance --attest.'),
  ceiling: ceilingSet.optional()
    .describe('The most any tool may be granted. Anything that it does not name is not granted.'),
})

/** How a policy is learned. */
export const learnSettings = z.strictObject({
  ceiling: ceilingSet.optional().describe(
    'The most that a tool may do. Other ceilings apply as well. Default: the workspace and commands behind the work '
    + 'wall; no network, no environment variables, no secrets.',
  ),
})
