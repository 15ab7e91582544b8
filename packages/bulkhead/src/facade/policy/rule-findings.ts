import { isCapability, type ResolvedConfig, type VariableValues } from '@bulkhead/contract'
import { configuredRules, lintRules, type Host, type RuleFinding } from '@bulkhead/host'
import { ruleProofs } from './rule-proofs.ts'

/** What is wrong with the rules of a configuration. Calls are tried as `explain` does: nothing runs. */
export async function ruleFindings(
  host: Pick<Host, 'openSession' | 'tools'>, config: ResolvedConfig, variables: VariableValues,
): Promise<readonly RuleFinding[]> {
  const found = lintRules(config, host.tools(), variables)
  const problems = new Set(found.flatMap(({ severity, rule }) => severity === 'problem' ? [rule.source] : []))
  const proofs = await ruleProofs(host, config)
  const idle = new Set(proofs.flatMap(({ call, source }) => call === null && !problems.has(source) ? [source] : []))
  return [
    ...found,
    ...configuredRules(config).filter(({ source }) => idle.has(source)).map((rule): RuleFinding => ({
      // An allow of a capability counts where other rules allow the rest of a call.
      kind: 'decides nothing', severity: rule.action === 'allow' && isCapability(rule.permission) ? 'note' : 'problem', rule,
      message: 'It decides none of the calls that were tried.',
      cure: 'Compare its permission with the names of "bulkhead tools", and try a call with "bulkhead explain".',
    })),
  ]
}
