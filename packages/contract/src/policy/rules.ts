import { matchSegment, textContains } from '@bulkhead/kit/glob'
import { RULE_CAPABILITIES, type RuleAction, type RuleCapability } from '../model/names.ts'
import type { Rule } from '../validation/policy.ts'
import { strictness } from './rule-action.ts'
import {
  comparePatterns, isEverything, kindOfTouch, matchesTouch, SUBJECT_KINDS, type RulePattern, type SubjectKind,
  type Touch,
} from './rule-patterns.ts'

export type { Touch } from './rule-patterns.ts'

/** Whose rule it is. The sessions of an embedder are its own, and the command line is the user's. */
export type RuleAuthor = 'bundled' | 'user' | 'project' | 'embedder' | 'machine'

export interface ScopedRule extends Rule, RulePattern {
  /** Whose configuration, session or agent it is from. */
  readonly author: RuleAuthor
  /** The file or option of the rule, and its place there. No other rule has the same. */
  readonly source: string
  /** Its line, if it is written in a file. */
  readonly line?: number
  /** Whether no rule can loosen it if it denies: that of the machine, the embedder's configuration, and an agent. */
  readonly isFinal?: boolean
  /** Set for a rule in the options of a session, which are the embedder's. */
  readonly ofSession?: true
  /** Set for a rule of an agent. */
  readonly ofAgent?: true
  /** The permission as written, if it means several capabilities. */
  readonly written?: string
}

/** Where a rule is written, for people: the file and line, or its source. */
export const rulePlace = ({ source, line }: Pick<ScopedRule, 'source' | 'line'>): string =>
  line === undefined ? source : `${source.replace(/#\/rules\/\d+$/, '')}:${line}`

/** The tool that rules name. */
export interface RuledTool {
  readonly tool: string
  /** The tool by its origin, such as mcp:server:tool. */
  readonly source?: string
}

/**
 * How rules that deny or ask apply to unknown parts of a call. `decided`: now, if a rule for a capability could match.
 * `jailed`: decided now, except files that rules of the configuration deny, which the jail of a server hides. `left`: each
 * use is judged when it is made.
 */
type UnknownParts = 'decided' | 'jailed' | 'left'

export interface RuleQuestion extends RuledTool {
  /** Each entry is judged separately, and the strictest answer applies. */
  readonly touches: readonly Touch[]
  readonly unknown?: UnknownParts
}

/** One use of a capability while a call runs. */
interface RuledUse extends RuledTool {
  readonly capability: RuleCapability
  readonly subject: string
}

/** The rules that say nothing about what one call uses, because others beat them at what it is approved by. */
export interface SetAside {
  readonly rules: ReadonlySet<ScopedRule>
  /** Uses of these kinds are judged by them all the same. */
  readonly kept: ReadonlySet<SubjectKind>
}

export interface RuleVerdict {
  readonly action: RuleAction
  /** It asks, and only a passkey allows it. */
  readonly passkey?: true
  /** The one that decides. */
  readonly rule: ScopedRule
  /** All rules that lead to this action. */
  readonly rules: readonly ScopedRule[]
}

/**
 * The capabilities that a misspelt permission such as `net` or `fs.wrtie` may mean, by its prefix, so that a rule that
 * denies is not lost. undefined for an exact name and for an unknown prefix.
 */
export function capabilitiesMeant(permission: string): readonly RuleCapability[] | undefined {
  if (isCapability(permission)) return undefined
  const family = `${permission.toLowerCase().split('.', 1)[0]}.`
  const found = RULE_CAPABILITIES.filter((capability) => capability.startsWith(family))
  return found.length === 0 ? undefined : found
}

const capabilities: ReadonlySet<string> = new Set(RULE_CAPABILITIES)
/** Whether a permission is a capability. Otherwise it names tools. */
export const isCapability = (permission: string): permission is RuleCapability => capabilities.has(permission)

/**
 * What the rules decide about a call, or undefined. For each thing that it touches, a rule that some matching rule
 * beats is set aside, and the strictest of the others counts. An allow decides only if rules that allow cover
 * everything: a rule for the tool that matches what the call is approved by covers the whole call, other rules cover
 * what they match.
 */
export function judgeRules(rules: readonly ScopedRule[], question: RuleQuestion): RuleVerdict | undefined {
  const named = rulesFor(rules, question)
  const aside = setAside(named, question)
  const found = question.touches
    .map((touch) => judgeTouch(touch.isKey ? named : rulesAbout(touch, named, aside), question, touch))
  const strictest = found.reduce<RuleVerdict | undefined>((best, one) =>
    one && (best === undefined || strictness(one) > strictness(best)) ? one : best, undefined)
  if (strictest === undefined) return undefined
  if (strictest.action === 'allow' && !coversAll(question.touches, found)) return undefined
  const same = found.flatMap((one) => one?.action === strictest.action ? one.rules : [])
  return { ...strictest, rules: [...new Set(same)] }
}

/** The rules that can match a call of the tool. */
export const rulesFor = (rules: readonly ScopedRule[], tool: RuledTool): readonly ScopedRule[] =>
  rules.filter((rule) => capabilities.has(rule.permission) || isNamed(rule, tool))

/** Whether a rule is about calls of a tool as a whole, such as `bash *`. */
export const isOfCalls = ({ permission, pattern }: Rule): boolean =>
  !isCapability(permission) && isEverything(pattern)

/**
 * Calls as a whole are judged by what they are approved by. A rule about them that others beat there is set aside for the
 * whole call. If a call is approved by a path or a host, others of that kind are still judged one by one.
 */
export function setAside(rules: readonly ScopedRule[], question: RuleQuestion): SetAside {
  const ofCalls = rulesFor(rules, question).filter(isOfCalls)
  const keys = question.touches.filter(({ isKey }) => isKey)
  if (ofCalls.length === 0 || keys.length === 0) return NOTHING_ASIDE
  const applicable = new Set(keys.flatMap((key) => applicableAt(rules, question, key)))
  return {
    rules: new Set(ofCalls.filter((rule) => !applicable.has(rule))),
    kept: new Set(keys.flatMap((key) => kindsNamedBy(key, question.touches))),
  }
}

/** What a key may be a name of. All commands of a line are keys, so no other command is left. */
function kindsNamedBy(key: Touch, touches: readonly Touch[]): readonly SubjectKind[] {
  const { capability, subject, names } = key
  if (names !== undefined) return []
  if (capability !== undefined) return [kindOfTouch(key)]
  const isFile = /[./:]/.test(subject) || touches.some((touch) => !touch.isKey && touch.subject.endsWith(`/${subject}`))
  const isCommand = touches.some((touch) =>
    touch.capability === 'shell.run' && matchesTouch({ pattern: subject, action: 'deny' }, touch, true))
  return [...(isFile ? ['path', 'host'] as const : []), ...(isCommand ? ['text'] as const : [])]
}

/** The rules that are not set aside for something that a call touches besides what it is approved by. */
const rulesAbout = (touch: Touch, rules: readonly ScopedRule[], { rules: aside, kept }: SetAside): readonly ScopedRule[] =>
  aside.size === 0 || (touch.capability !== undefined && kept.has(kindOfTouch(touch))) ? rules
    : rules.filter((rule) => !aside.has(rule))

/** What the rules decide about one use while a call runs. */
export function judgeUse(
  rules: readonly ScopedRule[], { capability, subject, ...tool }: RuledUse, aside: SetAside = NOTHING_ASIDE,
): RuleVerdict | undefined {
  const touch = { capability, subject }
  return judgeTouch(rulesAbout(touch, rulesFor(rules, tool), aside), tool, touch)
}
export const NOTHING_ASIDE: SetAside = { rules: new Set(), kept: new Set() }

/**
 * The rules that deny or ask, and that could match an unknown part of a call: they are judged when it is used. Not
 * those that stand at something known, because these decide before the call.
 */
export function possibleRules(rules: readonly ScopedRule[], question: RuleQuestion): readonly ScopedRule[] {
  const named = rulesFor(rules, question)
  const aside = setAside(named, question)
  const [unknown, known] = [true, false]
    .map((isUnknown) => question.touches.filter((touch) => (touch.isUnknown === true) === isUnknown))
  const decided = new Set(known!.flatMap((touch) => applicableAt(rulesAbout(touch, named, aside), question, touch)))
  return named.filter((rule) => rule.action !== 'allow' && !decided.has(rule) && unknown!.some((touch) =>
    rulesAbout(touch, [rule], aside).length > 0 && isAbout(rule, touch) && matchesTouch(rule, touch, true)))
}

/** The rule that denies every call of a tool, whatever its arguments; undefined if another rule may beat it. */
export function denyingRule(rules: readonly ScopedRule[], tool: RuledTool): ScopedRule | undefined {
  const named = rulesFor(rules, tool)
  const canBeat = (other: ScopedRule, rule: ScopedRule) => SUBJECT_KINDS.some((kind) => beats(other, rule, kind))
  return named.find((rule) => rule.action === 'deny' && isEverything(rule.pattern) && !isCapability(rule.permission)
    && (rule.isFinal === true || !named.some((other) => canBeat(other, rule))))
}

/**
 * The rule that keeps another from ever deciding: it matches all that the other matches, and is never set aside. `kinds`:
 * what the tools of a rule are known to touch.
 */
export function obstacleOf(
  rule: ScopedRule, rules: readonly ScopedRule[], kinds: readonly SubjectKind[] = SUBJECT_KINDS,
): ScopedRule | undefined {
  const isBeaten = (other: ScopedRule): boolean =>
    rules.some((one) => kinds.some((kind) => beats(one, other, kind)))
  const { permission } = rule
  const compared = isCapability(permission) ? [kindOfTouch({ capability: permission, subject: '' })] : kinds
  return rules.find((other) =>
    other !== rule && isStricterOrSame(other, rule) && matchesAll(other, rule, compared) && !isBeaten(other))
}

/** Stricter, or the same rule written before. */
function isStricterOrSame(other: ScopedRule, rule: ScopedRule): boolean {
  if (strictness(other) !== strictness(rule)) return strictness(other) > strictness(rule)
  return other.permission === rule.permission && other.pattern === rule.pattern && other.author === rule.author
    && other.source < rule.source
}

/** Whether a rule matches everything that another matches. A wrong no is possible, a wrong yes is not. */
const matchesAll = (outer: ScopedRule, inner: ScopedRule, kinds: readonly SubjectKind[]): boolean =>
  (isCapability(inner.permission) ? outer.permission === inner.permission || outer.permission === '*'
    : !isCapability(outer.permission) && textContains(outer.permission, inner.permission))
  && kinds.every((kind) => comparePatterns(inner, outer, kind) !== undefined)

/** The rules that match something, without those that others beat there. */
function applicableAt(
  rules: readonly ScopedRule[], question: RuleQuestion | RuledTool, touch: Touch,
): readonly ScopedRule[] {
  const unknown = 'unknown' in question ? question.unknown : undefined
  const matching = rules.filter((rule) => isAbout(rule, touch) && applies(rule, touch, unknown))
  const kind = kindOfTouch(touch)
  return matching.filter((rule) => !matching.some((other) => beats(other, rule, kind)))
}

function judgeTouch(
  rules: readonly ScopedRule[], question: RuleQuestion | RuledTool, touch: Touch,
): RuleVerdict | undefined {
  const kind = kindOfTouch(touch)
  const applicable = applicableAt(rules, question, touch)
  const [first] = applicable
  if (first === undefined) return undefined
  const strictest = applicable.reduce((best, rule) => strictness(rule) > strictness(best) ? rule : best, first)
  const { action, passkey } = strictest
  const rule = narrowest(applicable.filter((one) => strictness(one) === strictness(strictest)), kind)
  return { action, ...(passkey && { passkey }), rule, rules: applicable.filter((one) => one.action === action) }
}

function isDecidedNow({ action, permission, ofSession, ofAgent }: ScopedRule, unknown: UnknownParts): boolean {
  switch (unknown) {
    case 'decided': return true
    case 'jailed': return action === 'ask' || ofSession === true || ofAgent === true || !permission.startsWith('fs.')
    case 'left': return false
  }
}

function applies(rule: ScopedRule, touch: Touch, unknown: UnknownParts = 'left'): boolean {
  if (!touch.isUnknown || rule.action === 'allow') return matchesTouch(rule, touch)
  // The pattern of a rule for a tool may be the text of a command, and no path.
  const isJudgedNow = isCapability(rule.permission) && isDecidedNow(rule, unknown)
  return isJudgedNow && matchesTouch(rule, touch, true)
}

/** Whether rules that allow cover the whole call. `found`: the verdict on each entry. */
function coversAll(touches: readonly Touch[], found: readonly (RuleVerdict | undefined)[]): boolean {
  const isOfTool = ({ rules }: RuleVerdict): boolean => rules.some(({ permission }) => !isCapability(permission))
  const keys = found.filter((_, index) => touches[index]!.isKey === true)
  if (keys.length > 0 && keys.every((one) => one !== undefined && isOfTool(one))) return true
  const uses = found.filter((_, index) => touches[index]!.capability !== undefined)
  return uses.length > 0 && uses.every((one) => one !== undefined)
}

/** Whether a rule is about this capability, or about a tool whatever it touches. */
const isAbout = ({ permission }: Rule, { capability }: Touch): boolean =>
  !isCapability(permission) || permission === capability

const isNamed = ({ permission }: Rule, { tool, source }: RuledTool): boolean =>
  matchSegment(permission, tool) || (source !== undefined && matchSegment(permission, source))

/** Whether a rule sets a stricter one aside: it lies inside it, and its author may loosen it. */
function beats(rule: ScopedRule, other: ScopedRule, kind: SubjectKind): boolean {
  if (strictness(rule) >= strictness(other)) return false
  if (other.isFinal === true && other.action === 'deny') return false
  return mayLoosen(rule.author, other.author) && isInside(rule, other, kind)
}

/** Every author loosens its own rules and those of a project. Defaults are loosened by all. */
const mayLoosen = (author: RuleAuthor, other: RuleAuthor): boolean =>
  author === other || other === 'bundled' || (other === 'project' && author !== 'bundled')

/** Whether a rule lies inside another: permission inside or equal, pattern inside or equal, one of them smaller. */
function isInside(rule: ScopedRule, other: ScopedRule, kind: SubjectKind): boolean {
  const permission = comparePermissions(rule.permission, other.permission)
  if (permission === undefined) return false
  const pattern = comparePatterns(rule, other, kind)
  return pattern !== undefined && (permission === 'less' || pattern === 'less')
}

/** Of two rules that match the same call. A tool and a capability count as equal. */
function comparePermissions(permission: string, other: string): 'less' | 'same' | undefined {
  if (permission === other) return 'same'
  if (permission === '*') return undefined
  if (other === '*') return 'less'
  if (isCapability(permission) || isCapability(other)) return 'same'
  const [isGlob, isOtherGlob] = [permission.includes('*'), other.includes('*')]
  // Two names of one tool.
  if (!isGlob) return isOtherGlob ? 'less' : 'same'
  if (!isOtherGlob || !textContains(other, permission)) return undefined
  return textContains(permission, other) ? 'same' : 'less'
}

/** The one to name: of rules with the same action, one that no other lies inside. */
const narrowest = (rules: readonly ScopedRule[], kind: SubjectKind): ScopedRule =>
  rules.reduce((best, rule) => isInside(rule, best, kind) ? rule : best)
