import { z } from 'zod'
import { RULE_ACTIONS, SECURITY_MODES } from '../model/names.ts'

const session = {
  mode: z.enum(SECURITY_MODES).optional().describe('The mode of the session. Default: that of the configuration.'),
  agent: z.string().min(1).max(256).optional().describe('The agent that the session is opened for. Default: none.'),
}

/** What a policy should decide about calls, for `bulkhead policy test`. */
export const policyTestSchema = z.strictObject({
  ...session,
  calls: z.array(z.strictObject({
    name: z.string().min(1).max(200).optional().describe('What it tests, for people.'),
    call: z.string().min(1).max(256).describe('The name of the tool.'),
    arguments: z.record(z.string(), z.json()).optional().describe('Default: {}.'),
    expect: z.enum(RULE_ACTIONS).describe('What the policy should decide.'),
    rule: z.string().min(1).max(2_000).optional()
      .describe('A rule that must be among those that decide it, such as "fs.write secrets/** deny".'),
    ...session,
  })).min(1).max(10_000).describe('The calls. None of them runs.'),
})
export type PolicyTest = z.output<typeof policyTestSchema>
export type PolicyCase = PolicyTest['calls'][number]
