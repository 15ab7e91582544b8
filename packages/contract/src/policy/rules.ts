import { matchGlob, matchSegment } from '@bulkhead/kit/glob'
import type { RuleAction } from '../model/names.ts'
import type { Rule } from '../validation/policy.ts'

/** From far to near: the nearer scope wins. */
export const RULE_SCOPES = ['manifest', 'project', 'session'] as const
export type RuleScope = (typeof RULE_SCOPES)[number]

/** The permissions of a rule besides tool names and `*`. */
export const RULE_CAPABILITIES = ['fs.read', 'fs.write', 'shell.run', 'net.fetch'] as const
export type RuleCapability = (typeof RULE_CAPABILITIES)[number]

export type RuleAuthor = 'bundled' | 'user' | 'project' | 'embedder' | 'machine'

export interface ScopedRule extends Rule {
  readonly scope: RuleScope
  /** The file or option of the rule, for `explain`. */
  readonly source: string
  /** Whose configuration or agent it is from; absent for a session. A project cannot loosen rules of others. */
  readonly author?: RuleAuthor
  /** The permission as written, if it means several capabilities. */
  readonly written?: string
}

export interface RuleQuestion {
  readonly tool: string
  /** The tool by its origin, such as mcp:server:tool. */
  readonly source?: string
  readonly approvalKey: string
  /**
   * Other names of the same thing: rules that deny or ask match them, rules that allow do not. If present, the key is a
   * string such as a command line, in which `/` is an ordinary character.
   */
  readonly names?: readonly string[]
  /** What the call is known to touch. Each entry is matched separately and the strictest answer applies. */
  readonly touches: readonly { readonly capability: RuleCapability; readonly subject: string }[]
}
export interface RuleVerdict {
  readonly action: RuleAction
  readonly rule: ScopedRule
}

/**
 * The capabilities that a misspelt permission such as `net` or `fs.wrtie` may mean, by its prefix, so that a rule that
 * denies is not lost. undefined for an exact name and for an unknown prefix.
 */
export function capabilitiesMeant(permission: string): readonly RuleCapability[] | undefined {
  if (capabilities.has(permission)) return undefined
  const family = `${permission.toLowerCase().split('.', 1)[0]}.`
  const found = RULE_CAPABILITIES.filter((capability) => capability.startsWith(family))
  return found.length === 0 ? undefined : found
}

const strictness: Readonly<Record<RuleAction, number>> = { allow: 0, ask: 1, deny: 2 }
const capabilities: ReadonlySet<string> = new Set(RULE_CAPABILITIES)

/**
 * The rule that decides, or undefined if none does. A manifest deny is final, and a rule of a project that allows or
 * asks does not undo a stricter one of another author. An allow decides only if rules match everything the call
 * touches.
 */
export function judgeRules(rules: readonly ScopedRule[], question: RuleQuestion): RuleVerdict | undefined {
  const touches = question.touches.length > 0 ? question.touches : [undefined]
  let strictest: RuleVerdict | undefined
  let unmatched = false
  for (const touch of touches) {
    const matching = rules.filter((rule) => matches(rule, question, touch))
    const winner = winnerOf(matching)
    if (winner === undefined) unmatched = true
    else if (strictest === undefined || strictness[winner.action] > strictness[strictest.action]) {
      strictest = { action: winner.action, rule: winner }
    }
  }
  return unmatched && strictest?.action === 'allow' ? undefined : strictest
}

function winnerOf(matching: readonly ScopedRule[]): ScopedRule | undefined {
  const pinned = matching.find((rule) => rule.scope === 'manifest' && rule.action === 'deny')
  const best = pinned ?? firstOf(matching)
  if (best?.author !== 'project') return best
  const kept = firstOf(matching.filter((rule) => !mayLoosen(best, rule)))
  return kept && strictness[kept.action] > strictness[best.action] ? kept : best
}

const firstOf = (rules: readonly ScopedRule[]): ScopedRule | undefined => rules.reduce<ScopedRule | undefined>(
  (best, rule) => best === undefined || outranks(rule, best) ? rule : best, undefined)

/** A project loosens its own rules and defaults only. */
const mayLoosen = (rule: ScopedRule, other: ScopedRule): boolean =>
  rule.author !== 'project' || other.author === 'project' || other.author === 'bundled'

/** The rule that denies every call of a tool, whatever its arguments; undefined if another rule may outrank it. */
export function denyingRule(
  rules: readonly ScopedRule[], tool: Pick<RuleQuestion, 'tool' | 'source'>,
): ScopedRule | undefined {
  const relevant = rules.filter((rule) => capabilities.has(rule.permission) || isNamed(rule, tool))
  const denying = relevant.filter(({ permission, pattern, action }) =>
    action === 'deny' && isEverything(pattern) && !capabilities.has(permission))
  return denying.find((rule) => rule.scope === 'manifest'
    || relevant.every((other) => other.action === 'deny' || !outranks(other, rule) || !mayLoosen(other, rule)))
}

function matches(rule: Rule, question: RuleQuestion, touch: RuleQuestion['touches'][number] | undefined): boolean {
  if (capabilities.has(rule.permission)) {
    if (touch?.capability !== rule.permission) return false
    return touch.capability === 'shell.run' && question.names
      ? matchNames(rule, question) : matchPattern(rule.pattern, touch.subject)
  }
  if (!isNamed(rule, question)) return false
  if (question.names ? matchNames(rule, question) : matchPattern(rule.pattern, question.approvalKey)) return true
  return rule.permission === '*' && touch !== undefined && matchPattern(rule.pattern, touch.subject)
}

const isNamed = ({ permission }: Rule, { tool, source }: Pick<RuleQuestion, 'tool' | 'source'>): boolean =>
  matchSegment(permission, tool) || (source !== undefined && matchSegment(permission, source))

function matchNames({ pattern, action }: Rule, { approvalKey, names = [] }: RuleQuestion): boolean {
  const compared = action === 'allow' ? [approvalKey] : [approvalKey, ...names]
  return compared.some((name) => matchSegment(pattern, name))
}

const isEverything = (pattern: string): boolean => pattern === '*' || pattern === '**'

/** A pattern without `/` is compared as one segment, which takes a sixth of the time. */
const matchPattern = (pattern: string, subject: string): boolean =>
  isEverything(pattern)
  || (pattern.includes('/') || subject.includes('/') ? matchGlob(pattern, subject) : matchSegment(pattern, subject))

/**
 * Exact permission over glob over capability over `*`; then the longer pattern, the nearer scope, the stricter action,
 * the later rule.
 */
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
