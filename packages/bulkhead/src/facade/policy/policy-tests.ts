import { actionWords, BulkheadError, type RuleAction } from '@bulkhead/contract'
import { firstFault, policyTestSchema, type PolicyCase, type PolicyTest } from '@bulkhead/contract/validation'
import type { Explanation, Host, Session } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'

/** What the policy decides about one call of a test. */
export interface PolicyTestResult {
  readonly case: PolicyCase
  readonly decision: RuleAction
  /** Whether it is as expected. */
  readonly ok: boolean
  /** Why it is decided so, each with its source. */
  readonly reasons: readonly string[]
  readonly explanation: Explanation
}

/** The longest file of tests, in bytes. */
export const MAX_TEST_BYTES = 1_000_000

/** Reads YAML or JSON. Throws ConfigInvalid. */
export async function readPolicyTest(text: string, file: string): Promise<PolicyTest> {
  const { load } = await import('js-yaml')
  const invalid = (why: string): BulkheadError => new BulkheadError('ConfigInvalid', `${file}: ${why}`)
  let read: unknown
  try {
    // Aliases could make a short file expand to a very long text.
    read = load(text, { maxAliases: 0 })
  } catch (error) {
    throw invalid(`it is not valid YAML: ${messageOf(error).split('\n', 1)[0]}.`)
  }
  const parsed = policyTestSchema.safeParse(read)
  if (parsed.success) return parsed.data
  throw invalid(firstFault(parsed.error.issues, policyTestSchema, 'The file').message)
}

/** Decides each call as `explain` does, with a person there to ask. Nothing runs, and no one is asked. */
export async function runPolicyTest(
  host: Pick<Host, 'openSession'>, { calls, ...common }: PolicyTest,
): Promise<readonly PolicyTestResult[]> {
  const sessions = new Map<string, Session>()
  try {
    const results: PolicyTestResult[] = []
    for (const [index, one] of calls.entries()) {
      const { mode, agent } = { ...common, ...one }
      const key = JSON.stringify([mode, agent])
      const session = sessions.get(key) ?? await host.openSession({
        ...(mode && { mode }), ...(agent !== undefined && { agent }), approver: { approve: async () => ({ decision: 'reject' }) },
      })
      sessions.set(key, session)
      results.push(resultOf(one, await session.explain({ id: `test-${index}`, name: one.call, arguments: one.arguments ?? {} })))
    }
    return results
  } finally {
    for (const session of sessions.values()) await session.close()
  }
}

function resultOf(one: PolicyCase, explanation: Explanation): PolicyTestResult {
  const { decision, chain } = explanation
  const deciding = chain.filter(({ action }) => action === decision)
  const names = deciding.flatMap(({ rules = [] }) => rules)
  const { rule } = one
  const isByRule = rule === undefined || (names.some((name) => name.startsWith(ruleStart(rule)))
    && (!rule.endsWith(PASSKEY) || explanation.question?.passkey !== undefined))
  return {
    case: one, decision, explanation, ok: decision === one.expect && isByRule,
    reasons: [...new Set(deciding.map(({ reason }) => reason))],
  }
}

const PASSKEY = ` ${actionWords({ action: 'ask', passkey: true })}`

/** As the name of a rule begins: its place follows. */
function ruleStart(rule: string): string {
  const action = [PASSKEY, ' allow', ' ask', ' deny'].find((end) => rule.endsWith(end)) ?? ''
  return `the rule "${rule.slice(0, rule.length - action.length)}" of `
}
