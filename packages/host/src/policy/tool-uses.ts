import {
  isCapability, type CallUse, type DeniedPaths, type IgnoredFiles, type RuleCapability, type ScopedRule, type SetAside,
  type UseVerdict,
} from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { HostContext, ValidatedCall } from './call.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import type { SessionPolicy } from './session-policy.ts'
import { ruleName } from './model/verdict.ts'

/** What rules and ignore files say about the uses of one tool in one session. */
export interface ToolUses {
  /** `isAnswered`: whether a person said yes to a rule, which is named as in a verdict. */
  judge(use: CallUse, isAnswered: (rule: string) => boolean): UseVerdict | undefined
  /** What rules ask about, as patterns. */
  readonly asked: readonly (CallUse & { readonly verdict: UseVerdict; readonly by: ScopedRule })[]
  /** What commands are kept from: what rules deny, and what they ask about without an answer. */
  deniedPaths(isAnswered: (rule: string) => boolean): DeniedPaths | undefined
  /** Whether a rule demands a passkey. */
  demandsPasskey(rule: string): boolean
  /** A rule that denies hosts. */
  readonly deniesHosts: string | undefined
}

interface Known {
  readonly ignored: IgnoredFiles | undefined
  readonly byAside: Map<string, ToolUses | undefined>
}
const known = new WeakMap<SessionPolicy, WeakMap<ToolEntry, Known>>()

/**
 * undefined if nothing can deny a use of the call or ask about one. The same object for all calls for which the same
 * rules are set aside, until the ignore files change.
 */
export function usesOf(call: ValidatedCall, analysis: CallAnalysis, host: HostContext): ToolUses | undefined {
  const { tool, session: { policy } } = call
  const ignored = ignoredIn(call, host)
  const ofTools = known.getOrInsertComputed(policy, () => new WeakMap<ToolEntry, Known>())
  const before = ofTools.get(tool)
  const byAside = before !== undefined && before.ignored === ignored ? before.byAside : new Map<string, ToolUses | undefined>()
  ofTools.set(tool, { ignored, byAside })
  const asides = policy.lineage.map((each) => each.setAside(tool, analysis))
  return byAside.getOrInsertComputed(keyOf(asides, policy, tool), () => findUses(policy, tool, asides, ignored))
}

const keyOf = (asides: readonly SetAside[], { lineage }: SessionPolicy, tool: ToolEntry): string => JSON.stringify(
  asides.map(({ rules, kept }, index) => rules.size === 0 ? []
    : [lineage[index]!.rules.of(tool).map((rule) => rules.has(rule)), [...kept].toSorted()]))

/** What ignore files exclude in the folders of a session, as they are now. */
export const ignoredIn = (
  { session: { paths: { workspace, roots = [] } } }: ValidatedCall, { ignored }: HostContext,
): IgnoredFiles | undefined => ignored?.([workspace, ...roots])

export const isStrict = ({ action }: ScopedRule): boolean => action !== 'allow'

function findUses(
  { lineage }: SessionPolicy, tool: ToolEntry, asides: readonly SetAside[], ignored: IgnoredFiles | undefined,
): ToolUses | undefined {
  const rules = lineage.flatMap((each, index) =>
    each.rules.of(tool).filter((rule) => !asides[index]!.rules.has(rule) || asides[index]!.kept.size > 0))
  const strict = rules.filter(isStrict)
  if (strict.length === 0 && ignored === undefined) return undefined
  const passkeys = new Set(strict.filter(({ passkey }) => passkey).map(ruleName))
  const judgeByRules: ToolUses['judge'] = ({ capability, subject }, isAnswered) => {
    let asking: UseVerdict | undefined
    for (const [index, each] of lineage.entries()) {
      const verdict = each.rules.judgeUse(tool, { capability, subject }, asides[index]!)
      if (verdict === undefined || verdict.action === 'allow') continue
      if (verdict.action === 'deny') return { action: 'deny', rule: ruleName(verdict.rule) }
      const open = verdict.rules.map(ruleName).filter((name) => !isAnswered(name))
      const rule = open.find((name) => passkeys.has(name)) ?? open[0]
      if (rule !== undefined) asking ??= { action: 'ask', rule }
    }
    return asking
  }
  const judge: ToolUses['judge'] = (use, isAnswered) => {
    const { capability, subject } = use
    const isOfFile = capability === 'fs.read' || capability === 'fs.write'
    const line = isOfFile ? ignored?.lineFor(capability, subject) : undefined
    return line === undefined ? judgeByRules(use, isAnswered) : { action: 'deny', rule: line }
  }
  const denies = strict.filter(({ action }) => action === 'deny')
  const asks = strict.filter(({ action }) => action === 'ask')
  const isOfHosts = (rule: ScopedRule): boolean => capabilitiesOf(rule).includes('net.fetch')
  const hosts = denies.find(isOfHosts)
  const pathsDenied = (isAnswered: (rule: string) => boolean): DeniedPaths => ({
    // What an ignore file excludes is neither read nor written. The file itself is a protected place of the wall.
    ruleFor: (capability, subject) =>
      ignored?.lineFor('fs.read', subject) ?? judgeByRules({ capability, subject }, isAnswered)?.rule,
    places: denies.flatMap(placesOf),
    rule: denies.filter(isOfFiles).map(ruleName)[0] ?? ignored?.files[0]!.path,
    hasExceptions: rules.some((rule) => rule.action === 'allow' && isOfFiles(rule)),
  })
  const asksOfFiles = asks.filter(isOfFiles).map(ruleName)
  // The same objects as long as answers do not differ, so that folders are not looked through again.
  const always = ignored === undefined && !denies.some(mayBeOfFiles) ? undefined : pathsDenied(() => true)
  const unanswered = pathsDenied(() => false)
  return {
    judge,
    demandsPasskey: (rule) => passkeys.has(rule),
    asked: asks.flatMap((by) => capabilitiesOf(by).flatMap((capability) => patternsOf(by, capability)
      .map((subject) => ({ capability, subject, by, verdict: { action: 'ask', rule: ruleName(by) } as const })))),
    deniesHosts: hosts && ruleName(hosts),
    deniedPaths(isAnswered) {
      if (asksOfFiles.every(isAnswered)) return always
      return asksOfFiles.some(isAnswered) ? pathsDenied(isAnswered) : unanswered
    },
  }
}

const FILES: readonly RuleCapability[] = ['fs.read', 'fs.write']

/** The uses that a rule is about. The pattern of a rule that names a tool can be a path, or the text of a command. */
export function capabilitiesOf({ permission, pattern }: ScopedRule): readonly RuleCapability[] {
  if (isCapability(permission)) return [permission]
  return /^\.|\//.test(pattern) && !/[\s:]/.test(pattern) ? FILES : []
}

const isOfFiles = (rule: ScopedRule): boolean => capabilitiesOf(rule).some((each) => FILES.includes(each))

/** A word can be the name of a file, too. */
const mayBeOfFiles = (rule: ScopedRule): boolean =>
  isOfFiles(rule) || (!isCapability(rule.permission) && !/\s/.test(rule.pattern))

/** The paths that a rule names without wildcards, except one at the end for everything below. */
const placesOf = (rule: ScopedRule): readonly string[] => !isOfFiles(rule) ? [] : patternsOf(rule, 'fs.read')
  .map((pattern) => pattern.replace(/\/\*\*$/, '')).filter((path) => /^\/[^*]+$/.test(path))

const patternsOf = ({ pattern, paths = [pattern] }: ScopedRule, capability: RuleCapability): readonly string[] =>
  FILES.includes(capability) ? paths : [pattern]
