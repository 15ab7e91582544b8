import { z } from 'zod'
import { matchGlob, matchSegment } from '@bulkhead/kit/glob'

export const RULE_ACTIONS = ['allow', 'ask', 'deny'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]
export const RULE_SCOPES = ['manifest', 'project', 'session'] as const
export type RuleScope = (typeof RULE_SCOPES)[number]

/** What a capability rule speaks of, besides tool names and `*`. */
export const RULE_CAPABILITIES = ['fs.read', 'fs.write', 'shell.run', 'net.fetch'] as const
export type RuleCapability = (typeof RULE_CAPABILITIES)[number]

export const ruleSchema = z.strictObject({
  permission: z.string().min(1).max(128).describe('A tool name, a tool name ending in *, mcp:server:tool, openapi:document:operationId, a capability such as fs.write, or *.'),
  pattern: z.string().min(1).max(1024).default('*').describe('What the rule applies to: an approval key, a path, a host or a command; * and ** as in paths.'),
  action: z.enum(RULE_ACTIONS).describe('What happens to a call it applies to.'),
})
export type Rule = z.output<typeof ruleSchema>
export interface ScopedRule extends Rule {
  readonly scope: RuleScope
  /** Where it was written, for `explain`. */
  readonly source: string
  /** Who wrote it, for people: its scope unless given. The file of the user has the scope of the project. */
  readonly author?: 'user'
  /** Its permission as it was written, where that is not the name of a capability and stands for several. */
  readonly written?: string
}

export interface RuleQuestion {
  readonly tool: string
  /** The tool by where it comes from, such as mcp:server:tool. */
  readonly source?: string
  readonly approvalKey: string
  /**
   * Other names of what the key speaks of: whatever forbids or asks may mean them, and nothing is allowed by them. Given
   * them, the key is a text such as a command line, in which a `/` is a character like any other.
   */
  readonly names?: readonly string[]
  /** What the call is known to touch. Each is judged by itself and the strictest answer holds. */
  readonly touches: readonly { readonly capability: RuleCapability; readonly subject: string }[]
}
export interface RuleVerdict {
  readonly action: RuleAction
  readonly rule: ScopedRule
}

/**
 * The capabilities that a permission stands for which is not the exact name of one but begins like some: `net` and `fs.wrtie` may be
 * slips, and a rule that forbids must not be lost to one. undefined for what begins like none, and for an exact name.
 */
export function capabilitiesMeant(permission: string): readonly RuleCapability[] | undefined {
  if (capabilities.has(permission)) return undefined
  const family = `${permission.toLowerCase().split('.', 1)[0]}.`
  const meant = RULE_CAPABILITIES.filter((capability) => capability.startsWith(family))
  return meant.length === 0 ? undefined : meant
}

const strictness: Readonly<Record<RuleAction, number>> = { allow: 0, ask: 1, deny: 2 }
const capabilities: ReadonlySet<string> = new Set(RULE_CAPABILITIES)

/**
 * The rule that decides, or undefined when none does. A manifest deny is final. An allow decides only when rules speak
 * of everything the call touches: what none of them names is not allowed by one about something else.
 */
export function judgeRules(rules: readonly ScopedRule[], question: RuleQuestion): RuleVerdict | undefined {
  const touches = question.touches.length > 0 ? question.touches : [undefined]
  let strictest: RuleVerdict | undefined
  let unspoken = false
  for (const touch of touches) {
    const matching = rules.filter((rule) => matches(rule, question, touch))
    const pinned = matching.find((rule) => rule.scope === 'manifest' && rule.action === 'deny')
    const winner = pinned ?? matching.reduce<ScopedRule | undefined>((best, rule) => best === undefined || outranks(rule, best) ? rule : best, undefined)
    if (winner === undefined) unspoken = true
    else if (strictest === undefined || strictness[winner.action] > strictness[strictest.action]) {
      strictest = { action: winner.action, rule: winner }
    }
  }
  return unspoken && strictest?.action === 'allow' ? undefined : strictest
}

function matches(rule: Rule, question: RuleQuestion, touch: RuleQuestion['touches'][number] | undefined): boolean {
  if (capabilities.has(rule.permission)) {
    if (touch?.capability !== rule.permission) return false
    return touch.capability === 'shell.run' && question.names ? matchNames(rule, question) : matchPattern(rule.pattern, touch.subject)
  }
  const { tool, source } = question
  if (!matchSegment(rule.permission, tool) && (source === undefined || !matchSegment(rule.permission, source))) return false
  return (question.names ? matchNames(rule, question) : matchPattern(rule.pattern, question.approvalKey)) || (rule.permission === '*' && touch !== undefined && matchPattern(rule.pattern, touch.subject))
}

function matchNames({ pattern, action }: Rule, { approvalKey, names = [] }: RuleQuestion): boolean {
  const meant = action === 'allow' ? [approvalKey] : [approvalKey, ...names]
  return meant.some((name) => matchSegment(pattern, name))
}

/** What is no path is compared as one segment, which takes a sixth of the time: every call is held against every rule. */
const matchPattern = (pattern: string, subject: string): boolean =>
  pattern === '*' || pattern === '**' || (pattern.includes('/') || subject.includes('/') ? matchGlob(pattern, subject) : matchSegment(pattern, subject))

/** exact permission over glob over capability over `*`; then the longer pattern; then the nearer scope; then the stricter; then the later. */
function outranks(rule: ScopedRule, best: ScopedRule): boolean {
  const order = [
    permissionRank(rule) - permissionRank(best),
    literalLength(rule.pattern) - literalLength(best.pattern),
    RULE_SCOPES.indexOf(rule.scope) - RULE_SCOPES.indexOf(best.scope),
    strictness[rule.action] - strictness[best.action],
  ]
  return (order.find((difference) => difference !== 0) ?? 1) > 0
}

function permissionRank({ permission }: Rule): number {
  if (permission === '*') return 0
  if (capabilities.has(permission)) return 1
  return permission.includes('*') ? 2 : 3
}

const literalLength = (pattern: string): number => pattern.includes('*') ? pattern.indexOf('*') : pattern.length + 1
