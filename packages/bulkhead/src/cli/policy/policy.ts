import { type Command, defineSubcommand } from '../command.ts'
import { PLACE_OPTIONS } from '../host-options.ts'
import { inspect } from '../inspect.ts'
import { printJson, table } from '../output.ts'
import { callText, ruleProofs, ruleText, type RuleProof } from '../rule-proofs.ts'

const check = defineSubcommand({
  text: 'show for each rule one call that it decides',
  options: PLACE_OPTIONS,
  async run({ values }) {
    await using found = await inspect(values)
    const rules = await ruleProofs(found)
    if (values.json) printJson({ rules })
    else process.stdout.write(rules.length === 0 ? 'There are no rules.\n' : proofTable(rules))
    return rules.some(({ call }) => call === null) ? 1 : 0
  },
})

export const policy: Command = {
  subcommands: { check },
  details: `The calls are made up from the pattern of each rule, and explained as "bulkhead explain" does. Nothing runs,
and no one is asked. A rule may decide none of them because a stricter one does, or because no tool here is named so.`,
  exits: ['if every rule decides a call', 'if a rule decides none of the calls that were tried'],
  examples: [{ command: 'bulkhead policy check', text: 'what your rules do' }],
}

const proofTable = (rules: readonly RuleProof[]): string => table(
  ['AUTHOR', 'RULE', 'DECIDES', 'WRITTEN IN'],
  rules.map((rule) => [rule.author, ruleText(rule), callText(rule), rule.source]),
)
