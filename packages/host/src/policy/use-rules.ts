import { isOfCalls, mayReach, type CommandWall, type RuleCapability, type ScopedRule } from '@bulkhead/contract'
import { READ_BY_COMMANDS } from '@bulkhead/kit/programs'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { HostContext, ValidatedCall } from './call.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import { verdictOf } from './session-rules.ts'
import { capabilitiesOf, ignoredIn, isStrict, usesOf } from './tool-uses.ts'
import { knownCapabilities, unknownPartsOf } from './touches.ts'
import { deny, ruleName, type Verdict } from './model/verdict.ts'

/** What a call may meet while it runs, each by its name. */
export interface LaterRule {
  readonly action: 'deny' | 'ask'
  readonly rule: string
}

/** The rules and ignore files that may deny a use of a call, or ask about one, after it was allowed. */
export function laterRules(call: ValidatedCall, analysis: CallAnalysis, host: HostContext): readonly LaterRule[] {
  const { tool, session: { policy } } = call
  const isDecided = unknownPartsOf(tool, analysis) === 'decided'
  const isCommand = analysis.command !== undefined
  // The words of a rule about commands are no paths.
  const isAboutUses = (rule: ScopedRule): boolean => !isCommand || capabilitiesOf(rule).length > 0
  // What commands could use is asked before they start, and what a server in its jail could use before the call.
  const mayAsk = !isCommand && tool.extension.descriptor.server === undefined
  const isLater = (rule: ScopedRule): boolean => !isDecided && isAboutUses(rule) && (rule.action === 'deny' || mayAsk)
  // What a command of the tool reads, writes and reaches is limited by its wall, not by the grant.
  const ofCommands = (rule: ScopedRule): boolean =>
    tool.grant.shell.length > 0 && isStrict(rule) && !isOfCalls(rule) && rule.permission !== 'shell.run'
  const rules = new Set(policy.lineage.flatMap((each) =>
    [...each.possibleRules(tool, analysis), ...each.rules.of(tool).filter(ofCommands)]).filter(isLater))
  const files = mayUseFiles(tool) ? ignoredIn(call, host)?.files ?? [] : []
  return [
    ...[...rules].map((rule): LaterRule => ({ action: rule.action === 'ask' ? 'ask' : 'deny', rule: ruleName(rule) })),
    ...files.map(({ path }): LaterRule => ({ action: 'deny', rule: path })),
  ]
}

const mayUseFiles = ({ grant: { fs, shell } }: ToolEntry): boolean => fs.read.length + fs.write.length + shell.length > 0

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

/**
 * What rules say about the commands of a call, which cannot be judged while they run: what they could use is asked, and
 * what rules deny is refused if no wall here keeps them from it. What they are known not to use is hidden, and asked only
 * if it cannot be. `verdicts`: those on the call so far.
 */
export async function judgeCommands(
  call: ValidatedCall, analysis: CallAnalysis, verdicts: readonly Verdict[], host: HostContext,
): Promise<Verdict | undefined> {
  const asked = askedOfCommands(call, analysis, verdicts, host, true)
  if (await notStarted(call, analysis, asked ? [...verdicts, asked] : verdicts, host) === undefined) return asked
  const more = askedOfCommands(call, analysis, verdicts, host, false)
  return await notStarted(call, analysis, more ? [...verdicts, more] : verdicts, host) ?? more
}

/** `isExact`: without what the commands are known not to use. */
function askedOfCommands(
  call: ValidatedCall, analysis: CallAnalysis, verdicts: readonly Verdict[], host: HostContext, isExact: boolean,
): Verdict | undefined {
  const { command, wall = LOOK } = analysis
  const uses = command && usesOf(call, analysis, host)
  if (uses === undefined || uses.asked.length === 0) return undefined
  const { tool, session: { policy, paths: { workspace } } } = call
  const folders = { roots: [workspace, ...policy.forTool(tool).power.fs.commandRoots ?? []], system: READ_BY_COMMANDS }
  // Beyond the look wall, what words seem to do is only a guess.
  const known = isExact && wall.wall === 'look' ? knownCapabilities(analysis) : new Set<RuleCapability>()
  const asking = new Set(verdicts.flatMap(({ rules = [] }) => rules))
  const found = uses.asked.filter(({ verdict, ...use }) =>
    !known.has(use.capability) && !asking.has(verdict.rule) && mayReach(use, wall, folders)).map(({ by }) => by)
  const rule = found.find(({ passkey }) => passkey) ?? found[0]
  return rule && verdictOf({ action: 'ask', ...(rule.passkey && { passkey: true }), rule, rules: [...new Set(found)] })
}

/** Why the commands of a call would not start, because no wall here keeps them from what rules deny. */
async function notStarted(
  call: ValidatedCall, analysis: CallAnalysis, verdicts: readonly Verdict[], host: HostContext,
): Promise<Verdict | undefined> {
  const { tool, session: { policy } } = call
  const { command, startsBehind, wall = startsBehind ? { wall: startsBehind } : LOOK } = analysis
  if ((command ?? startsBehind) === undefined || host.whyNotStarted === undefined) return undefined
  const uses = usesOf(call, analysis, host)
  const answered = new Set(verdicts.flatMap(({ action, rules = [] }) => action === 'ask' ? rules : []))
  // A tool that chooses its wall asks when it starts a command.
  const isAnswered = (rule: string): boolean => command === undefined || answered.has(rule)
  const [deniedPaths, deniesHosts] = [uses?.deniedPaths(isAnswered), uses?.deniesHosts]
  if (deniedPaths === undefined && deniesHosts === undefined) return undefined
  const error = await host.whyNotStarted(policy.forTool(tool).power, wall, { deniedPaths, deniesHosts })
  if (error === undefined) return undefined
  const { source } = error.data as { readonly source: string }
  return { ...deny('rules', 'RuleDenied', source, error.message), error }
}
