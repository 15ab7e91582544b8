import { isOfCalls, type CommandWall, type ScopedRule } from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { HostContext, ValidatedCall } from './call.ts'
import type { CallAnalysis } from './checked-call.ts'
import { capabilitiesOf, ignoredIn, isStrict, usesOf } from './tool-uses.ts'
import { unknownPartsOf } from './touches.ts'
import { deny, ruleName, type Verdict } from './verdict.ts'

/** What a call may meet while it runs, each by its name. */
export interface LaterRule {
  readonly action: 'deny' | 'ask'
  readonly rule: string
}

/** The rules and ignore files that may deny a use of a call, or ask about one, after it was allowed. */
export function laterRules(call: ValidatedCall, analysis: CallAnalysis, host: HostContext): readonly LaterRule[] {
  const { tool, session: { policy } } = call
  const unknown = unknownPartsOf(tool, analysis)
  const isLater = (rule: ScopedRule): boolean => unknown !== 'decided'
    && (capabilitiesOf(rule).length > 0 || isOfCalls(rule)) && (rule.action === 'deny' || unknown === 'left')
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

/** Why the commands of a call would not start, because no wall here keeps them from what rules deny. */
export async function notStarted(
  call: ValidatedCall, analysis: CallAnalysis, host: HostContext,
): Promise<Verdict | undefined> {
  const { tool, session: { policy } } = call
  const { command, wall = LOOK } = analysis
  if (command === undefined || host.whyNotStarted === undefined) return undefined
  const uses = usesOf(call, analysis, host)
  if (uses?.deniedPaths === undefined && uses?.deniesHosts === undefined) return undefined
  const error = await host.whyNotStarted(policy.standing(tool).power, wall, uses)
  if (error === undefined) return undefined
  const { source } = error.data as { readonly source: string }
  return { ...deny('rules', 'RuleDenied', source, error.message), error }
}
