import { z } from 'zod'

/** From the mildest. A warning asks a person, what is critical is refused. */
export const COMMAND_SEVERITIES = ['warning', 'critical'] as const
export type CommandSeverity = (typeof COMMAND_SEVERITIES)[number]

const patternId = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'small letters, digits and -')

export const commandSafetyPatternSchema = z.strictObject({
  id: patternId.describe('By which it is named in decisions and in the configuration.'),
  label: z.string().min(1).max(100).describe('What it finds, in a few words.'),
  description: z.string().min(1).max(500).describe('Why that is dangerous.'),
  pattern: z.string().min(1).max(2_000)
    .describe('A regular expression that is found anywhere in a command: RE2 syntax, so without look-around and back references.'),
  category: z.string().min(1).max(50).describe('What is in danger, such as filesystem or credentials.'),
  severity: z.enum(COMMAND_SEVERITIES).describe('warning asks a person, critical refuses.'),
  platform: z.enum(['all', 'unix', 'windows']).default('all').describe('Where such commands exist.'),
})
/** One form of command that nobody should run unseen. */
export type CommandSafetyPattern = z.output<typeof commandSafetyPatternSchema>

export const commandSafetyConfigSchema = z.strictObject({
  enabled: z.boolean().optional().describe('Whether commands are compared with the patterns. On unless switched off; a project cannot.'),
  severity: z.record(patternId, z.enum(['off', ...COMMAND_SEVERITIES])).optional()
    .describe('Another severity for patterns, by id. A project can only raise one.'),
  patterns: z.array(commandSafetyPatternSchema).max(200).optional().describe('Further patterns.'),
})
export type CommandSafetyConfig = z.output<typeof commandSafetyConfigSchema>

export interface CommandClassification {
  /** Of the worst rule that matched. */
  readonly severity: CommandSeverity | 'safe'
  readonly matchedRules: readonly CommandSafetyPattern[]
}
