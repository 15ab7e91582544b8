import { BulkheadError, type RuleCapability, type UseRules } from '@bulkhead/contract'

/**
 * Checks one use against the rules of its call, as the grant was checked before: a rule that denies refuses this use, and
 * one that asks is answered by a person first. `subjects`: all names of the same thing. Rejects with RuleDenied or
 * ApprovalDenied.
 */
export async function requireUse(
  uses: UseRules | undefined, capability: RuleCapability, ...subjects: readonly string[]
): Promise<void> {
  if (uses === undefined) return
  for (const subject of new Set(subjects)) {
    const answered = new Set<string>()
    for (let verdict = uses.judge(capability, subject); verdict; verdict = uses.judge(capability, subject)) {
      if (verdict.action === 'deny') throw uses.deny({ capability, subject }, verdict)
      if (answered.has(verdict.rule)) throw new BulkheadError('InternalError', `${verdict.rule} asks again.`)
      answered.add(verdict.rule)
      await uses.ask({ capability, subject }, verdict)
    }
  }
}
