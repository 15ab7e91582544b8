import {
  BulkheadError, isEverything, kindOfTouch, type Rule, type ScopedRule, type Touch,
} from '@bulkhead/contract'
import { Attempts } from '../model/call-run.ts'
import { Call, ResolvedCall, ValidatedCall, type DecidedCall, type HostContext } from './call.ts'
import type { Decision } from './decision.ts'
import { evaluate } from './evaluate.ts'
import { deny, ruleName, type Verdict } from './model/verdict.ts'
import type { RuleChange, SessionPolicy } from './session-policy.ts'
import { touchesOf } from './touches.ts'

/** The least change of rules that would allow a call without a question. */
export interface SmallestChange {
  /** Rules to add to the user's configuration. */
  readonly add: readonly Rule[]
  /** Rules to remove from the configuration of the user or of the project. */
  readonly remove: readonly ScopedRule[]
  /** What the added rules allow besides this call, each as the end of a sentence. */
  readonly allows: readonly string[]
}

/** What rules can change. Anything else that denies or asks stays, whatever rules there are. */
const RULED: ReadonlySet<Verdict['stage']> = new Set(['rules', 'security-mode', 'tool-mode'])
/** A call with more keys gets no proposal: no one would read it. */
const MOST_RULES = 16
const LONGEST_PATTERN = 1_024
/** Removing a rule can uncover another. */
const MOST_ROUNDS = 4

/**
 * Tries a rule for exactly what the call is approved by, and then without the rules that it cannot set aside. Each is
 * evaluated like the call. undefined if no change of rules of the user or the project allows it.
 */
export async function smallestChange(decided: DecidedCall, host: HostContext): Promise<SmallestChange | undefined> {
  const { call, decision: { verdict, verdicts } } = decided
  if (verdict.action === 'allow' || call.session.policy.isStaged) return undefined
  if ([verdict, ...verdicts].some(({ action, stage }) => action !== 'allow' && !RULED.has(stage))) return undefined
  const proposed = proposedRules(decided)
  if (proposed.length === 0 || proposed.length > MOST_RULES) return undefined
  const remove = new Map<string, ScopedRule>()
  const tried = async (add: readonly Rule[]): Promise<Decision | undefined> =>
    decideWith({ add: add.map(asOfUser), remove: new Set(remove.keys()) }, decided, host)
  const add = proposed.map(({ rule }) => rule)
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const found = await tried(add)
    if (found === undefined) return undefined
    if (found.verdict.action === 'allow') {
      const isEnough = remove.size > 0 && (await tried([]))?.verdict.action === 'allow'
      const allows = isEnough ? [] : proposed.map(({ allows: words }) => words)
      return { add: isEnough ? [] : add, remove: [...remove.values()].map(asWritten), allows }
    }
    const more = removable(found.verdict, call.session.policy)
    if (more.length === 0) return undefined
    for (const rule of more) remove.set(rule.source, rule)
  }
  return undefined
}

interface Proposed {
  readonly rule: Rule
  readonly allows: string
}

/** A rule for each thing that the call is approved by, and for nothing else. */
function proposedRules({ call: { tool, session: { policy, paths } }, decision: { analysis } }: DecidedCall): readonly Proposed[] {
  const { unknown } = policy.forTool(tool)
  const keys = touchesOf(analysis, { workspace: paths.workspace, unknown, withEffects: true })
    .filter(({ isKey }) => isKey === true)
  const folders = new Set(keys.flatMap(({ isUnknown, subject }) => isUnknown ? [subject.replace(/\/\*\*$/, '')] : []))
  return keys.filter(({ isUnknown, subject }) => !isUnknown && subject.length <= LONGEST_PATTERN).map((touch) => ({
    rule: { permission: tool.name, pattern: touch.subject, action: 'allow' },
    allows: wordsOf(touch, tool, folders.has(touch.subject)),
  }))
}

/** Without what the host prepared. */
const asWritten = (
  { permission, written = permission, pattern, action, passkey, author, source, line }: ScopedRule,
): ScopedRule => ({
  permission: written, pattern, action, ...(passkey && { passkey }), author, source, ...(line !== undefined && { line }),
})

export const asOfUser = (rule: Rule, index: number): ScopedRule => ({ ...rule, author: 'user', source: `proposed#/rules/${index}` })

/** Under the present rules with a change. undefined if a pattern cannot be used. */
async function decideWith(change: RuleChange, decided: DecidedCall, host: HostContext): Promise<Decision | undefined> {
  const { call, decision: { analysis } } = decided
  try {
    const changed = withRules(call, change)
    return (await evaluate(changed, new Attempts(), host, refuseChange, analysis)).evaluation
  } catch (error) {
    if (BulkheadError.is(error) && error.code === 'RequirementInvalid') return undefined
    throw error
  }
}

/** The arguments are as policies left them. Another change would make it another call. */
const refuseChange = (): Verdict => deny('watchdog', 'ArgumentsUnsettled', 'change', 'the arguments would change')

/** Throws RequirementInvalid for a pattern that cannot be used. */
export function withRules(call: ValidatedCall, change: RuleChange): ValidatedCall {
  const scope = { ...call.scope, session: { ...call.session, policy: call.session.policy.withRules(change) } }
  return new ValidatedCall(new ResolvedCall(new Call({ ...call, scope }), call.timeoutMs, call.tool), call)
}

/** The rules behind a verdict, if a file of the user or the project has them all. */
function removable({ stage, action, rules: names = [] }: Verdict, { lineage }: SessionPolicy): readonly ScopedRule[] {
  const named = new Set(names)
  const found = lineage.flatMap(({ rules }) => rules.all)
    .filter((rule) => rule.action === action && named.has(ruleName(rule)))
  const canGo = ({ author, isFinal, ofAgent, ofSession }: ScopedRule): boolean =>
    (author === 'user' || author === 'project') && !isFinal && !ofAgent && !ofSession
  return stage === 'rules' && found.every(canGo) ? found : []
}

function wordsOf(touch: Touch, tool: ValidatedCall['tool'], isFolder: boolean): string {
  const { subject } = touch
  const every = `every call of ${tool.name}`
  switch (kindOfTouch(touch)) {
    case 'text':
      return subject.includes('*') && !isEverything(subject)
        ? `every command of ${tool.name} that matches "${subject}"` : `the command "${subject}" of ${tool.name}`
    case 'path':
      return `${every} for ${subject}${isFolder ? ' and everything in it' : ''}`
    case 'host':
      return `${every} for the host ${subject}`
    case 'key':
      return subject === tool.name && tool.approvalKey === undefined
        ? `${every}, whatever its arguments` : `${every} with the key "${subject}"`
  }
}
