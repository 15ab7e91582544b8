import {
  isCapability, isOfCalls, type CallUse, type CommandWall, type DeniedPaths, type IgnoredFiles, type RuleCapability,
  type ScopedRule, type UseVerdict,
} from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { HostContext, ValidatedCall } from './call.ts'
import type { CallAnalysis } from './checked-call.ts'
import type { SessionPolicy } from './session-policy.ts'
import { unknownPartsOf } from './touches.ts'
import { deny, ruleName, type Verdict } from './verdict.ts'

/** What rules and ignore files say about the uses of one tool in one session. The same for all its calls. */
export interface ToolUses {
  /** `isAnswered`: whether a person said yes to a rule, which is named as in a verdict. */
  judge(use: CallUse, isAnswered: (rule: string) => boolean): UseVerdict | undefined
  /** What rules ask about, as patterns. */
  readonly asked: readonly (CallUse & { readonly verdict: UseVerdict })[]
  readonly deniedPaths: DeniedPaths | undefined
  /** A rule that denies hosts. */
  readonly deniesHosts: string | undefined
}

/** What is said about uses depends on these. */
interface UseSources {
  readonly ignored: IgnoredFiles | undefined
  /** Whether the calls are approved by their commands. */
  readonly ofCommands: boolean
}

type Known = UseSources & { readonly uses: ToolUses | undefined }
const known = new WeakMap<SessionPolicy, WeakMap<ToolEntry, Known>>()

/** undefined if nothing can deny a use of this tool or ask about one. The same object until the ignore files change. */
export function usesOf(policy: SessionPolicy, tool: ToolEntry, sources: UseSources): ToolUses | undefined {
  const ofTools = known.getOrInsertComputed(policy, () => new WeakMap<ToolEntry, Known>())
  const before = ofTools.get(tool)
  const { ignored, ofCommands } = sources
  if (before && before.ignored === ignored && before.ofCommands === ofCommands) return before.uses
  const uses = findUses(policy, tool, sources)
  ofTools.set(tool, { ...sources, uses })
  return uses
}

/** What a call may meet while it runs, each by its name. */
export interface LaterRule {
  readonly action: 'deny' | 'ask'
  readonly rule: string
}

/** The rules and ignore files that may deny a use of a call, or ask about one, after it was allowed. */
export function laterRules(call: ValidatedCall, analysis: CallAnalysis, host: HostContext): readonly LaterRule[] {
  const { tool, session: { policy } } = call
  const unknown = unknownPartsOf(tool, analysis)
  const isLater = (rule: ScopedRule): boolean => unknown !== 'decided' && capabilitiesOf(rule).length > 0
    && (rule.action === 'deny' || unknown === 'left')
  // What a command of the tool reads, writes and reaches is limited by its wall, not by the grant.
  const rules = new Set(policy.lineage.flatMap((each) => [
    ...each.possibleRules(tool, analysis), ...(tool.grant.shell.length > 0 ? each.rules.of(tool).filter(isBeyondCommand) : []),
  ]).filter(isLater))
  const files = mayUseFiles(tool) ? ignoredIn(call, host)?.files ?? [] : []
  return [
    ...[...rules].map((rule): LaterRule => ({ action: rule.action === 'ask' ? 'ask' : 'deny', rule: ruleName(rule) })),
    ...files.map(({ path }): LaterRule => ({ action: 'deny', rule: path })),
  ]
}

const isStrict = ({ action }: ScopedRule): boolean => action !== 'allow'
const isBeyondCommand = (rule: ScopedRule): boolean => isStrict(rule) && rule.permission !== 'shell.run'

const mayUseFiles = ({ grant: { fs, shell } }: ToolEntry): boolean => fs.read.length + fs.write.length + shell.length > 0

/** What ignore files exclude in the folders of a session, as they are now. */
export const ignoredIn = (
  { session: { paths: { workspace, roots = [] } } }: ValidatedCall, { ignored }: HostContext,
): IgnoredFiles | undefined => ignored?.([workspace, ...roots])

/**
 * Why an ignore file denies a call before it runs: it excludes a path that the arguments name, or nothing can keep the
 * call from what it excludes.
 */
export function ignoredPath(call: ValidatedCall, { named, wall }: CallAnalysis, host: HostContext): Verdict | undefined {
  const isOpen = wall?.wall === 'open'
  const isLoose = isOpen || call.tool.extension.descriptor.server?.unconfined === true
  // Most tools of others: the files are not looked at for each of their calls.
  if (!isLoose && named === undefined) return undefined
  const ignored = ignoredIn(call, host)
  if (ignored === undefined) return undefined
  if (isLoose) {
    const { path } = ignored.files[0]!
    const why = isOpen ? 'the command would run without a wall' : 'the server is not confined'
    return deny('rules', 'RuleDenied', path, `${path} denies files, and ${why}`)
  }
  for (const { capability, path, real = path } of named?.() ?? []) {
    if (capability !== 'fs.read' && capability !== 'fs.write') continue
    const line = ignored.lineFor(capability, path) ?? ignored.lineFor(capability, real)
    if (line !== undefined) return deny('rules', 'RuleDenied', line, `${line} forbids it`)
  }
  return undefined
}

/** What a simple command that needs no wall runs behind, if one stands by then. */
const LOOK: CommandWall = { wall: 'look' }

/** Why the commands of a call would not start, because no wall here keeps them from what rules deny. */
export async function notStarted(
  call: ValidatedCall, { command, wall = LOOK }: CallAnalysis, host: HostContext,
): Promise<Verdict | undefined> {
  const { tool, session: { policy } } = call
  if (command === undefined || host.whyNotStarted === undefined) return undefined
  const uses = usesOf(policy, tool, { ignored: ignoredIn(call, host), ofCommands: true })
  if (uses?.deniedPaths === undefined && uses?.deniesHosts === undefined) return undefined
  const error = await host.whyNotStarted(policy.standing(tool).power, wall, uses)
  if (error === undefined) return undefined
  const { source } = error.data as { readonly source: string }
  return { ...deny('rules', 'RuleDenied', source, error.message), error }
}

function findUses(
  policy: SessionPolicy, tool: ToolEntry, { ignored, ofCommands }: UseSources,
): ToolUses | undefined {
  const rules = policy.lineage.flatMap((each) => each.rules.of(tool)).filter((rule) => !ofCommands || !isOfCalls(rule))
  const strict = rules.filter(isStrict)
  if (strict.length === 0 && ignored === undefined) return undefined
  const judge: ToolUses['judge'] = ({ capability, subject }, isAnswered) => {
    const isOfFile = capability === 'fs.read' || capability === 'fs.write'
    const line = isOfFile ? ignored?.lineFor(capability, subject) : undefined
    if (line !== undefined) return { action: 'deny', rule: line }
    let asking: UseVerdict | undefined
    for (const each of policy.lineage) {
      const verdict = each.rules.judgeUse(tool, { capability, subject }, ofCommands)
      if (verdict === undefined || verdict.action === 'allow') continue
      if (verdict.action === 'deny') return { action: 'deny', rule: ruleName(verdict.rule) }
      const open = verdict.rules.map(ruleName).find((name) => !isAnswered(name))
      if (open !== undefined) asking ??= { action: 'ask', rule: open }
    }
    return asking
  }
  const denies = strict.filter(({ action }) => action === 'deny')
  const isOfHosts = (rule: ScopedRule): boolean => capabilitiesOf(rule).includes('net.fetch')
  const hosts = denies.find(isOfHosts)
  return {
    judge,
    asked: strict.filter(({ action }) => action === 'ask').flatMap((rule) => capabilitiesOf(rule)
      .flatMap((capability) => patternsOf(rule, capability).map((subject) =>
        ({ capability, subject, verdict: { action: 'ask', rule: ruleName(rule) } as const })))),
    deniesHosts: hosts && ruleName(hosts),
    deniedPaths: ignored === undefined && !denies.some(mayBeOfFiles) ? undefined : {
      ruleFor(capability, subject) {
        const verdict = judge({ capability, subject }, NEVER)
        return verdict?.action === 'deny' ? verdict.rule : undefined
      },
      places: denies.flatMap(placesOf),
      rule: denies.filter(isOfFiles).map(ruleName)[0] ?? ignored?.files[0]!.path,
      hasExceptions: rules.some((rule) => rule.action === 'allow' && isOfFiles(rule)),
    },
  }
}

const NEVER = (): boolean => false

const FILES: readonly RuleCapability[] = ['fs.read', 'fs.write']

/** The uses that a rule is about. The pattern of a rule that names a tool can be a path, or the text of a command. */
function capabilitiesOf({ permission, pattern }: ScopedRule): readonly RuleCapability[] {
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
