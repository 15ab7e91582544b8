import { BulkheadError, type CallUse, type RuleCapability, type UseRules, type UseVerdict } from '@bulkhead/contract'
import { matchGlob, matchSegment } from '@bulkhead/kit/glob'

export interface TestRule extends UseVerdict {
  readonly capability: RuleCapability
  readonly pattern: string
}

export const denies = (capability: RuleCapability, pattern: string): TestRule =>
  ({ action: 'deny', capability, pattern, rule: `the rule "${capability} ${pattern}"` })
export const asks = (capability: RuleCapability, pattern: string): TestRule =>
  ({ ...denies(capability, pattern), action: 'ask' })

/** Rules as the host makes them for a call. `answer`: what a person says, by the name of the rule. */
export function useRules(
  rules: readonly TestRule[], answer: (use: CallUse, rule: string) => Promise<boolean> = async () => false,
): UseRules {
  const yes = new Set<string>()
  const isMatch = ({ capability, pattern }: TestRule, use: CallUse): boolean => capability === use.capability
    && (pattern.startsWith('/') ? matchGlob(pattern, use.subject) : matchSegment(pattern, use.subject))
  const judge: UseRules['judge'] = (capability, subject) => {
    const found = rules.filter((rule) => isMatch(rule, { capability, subject }) && !yes.has(rule.rule))
    return found.find(({ action }) => action === 'deny') ?? found[0]
  }
  const refusal = (code: 'RuleDenied' | 'ApprovalDenied', { subject }: CallUse, { rule }: UseVerdict) =>
    new BulkheadError(code, `The call may not use ${subject}: ${rule} says no.`)
  const ofFiles = rules.find(({ action, capability }) => action === 'deny' && capability.startsWith('fs.'))
  return {
    judge,
    async ask(use, verdict) {
      if (!(await answer(use, verdict.rule))) throw refusal('ApprovalDenied', use, verdict)
      yes.add(verdict.rule)
    },
    deny: (use, verdict) => refusal('RuleDenied', use, verdict),
    asked: rules
      .filter(({ action }) => action === 'ask')
      .map(({ capability, pattern, rule }) => ({ capability, subject: pattern, verdict: { action: 'ask', rule } })),
    deniedPaths: ofFiles && {
      hasExceptions: false,
      rule: ofFiles.rule,
      places: rules
        .filter(({ action, pattern }) => action === 'deny' && /^\/[^*]*$/.test(pattern))
        .map(({ pattern }) => pattern),
      ruleFor(capability, path) {
        const verdict = judge(capability, path)
        return verdict?.action === 'deny' ? verdict.rule : undefined
      },
    },
    deniesHosts: rules.find(({ action, capability }) => action === 'deny' && capability === 'net.fetch')?.rule,
  }
}
