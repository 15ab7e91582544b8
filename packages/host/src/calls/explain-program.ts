import { powerItems, powerPhrases, PROGRAM_TOOL } from '@bulkhead/contract'
import { deniedAlways } from '../policy/evaluate.ts'
import type { HostContext, ValidatedCall } from '../policy/call.ts'

/** A tool that a program may call, and the most that such a call can do. */
export interface ProgramTool {
  readonly tool: string
  /** What it may touch in this session, as phrases after "may". */
  readonly may: readonly string[]
  /** Whether a call needs approval, unless a rule or an earlier approval allows it. */
  readonly gated: boolean
  /** Why every call is denied, whatever its arguments. */
  readonly denied?: string
}

/**
 * The tools that the program of a call of `code_mode` names; all, if it does not name them. Each call is decided again
 * when the program makes it. undefined for other tools.
 */
export function programTools(call: ValidatedCall, host: HostContext): readonly ProgramTool[] | undefined {
  if (call.tool.name !== PROGRAM_TOOL) return undefined
  const named = host.argumentsReaders.get(PROGRAM_TOOL)?.(call.args, host).tools ?? 'all'
  const { tools } = call.scope
  const names = named === 'all' ? tools.enabled().map(({ tool }) => tool.name) : named
  return names.filter((name) => name !== PROGRAM_TOOL).map((name) => programTool(name, call, host))
}

function programTool(
  name: string, { scope: { tools }, session: { policy } }: ValidatedCall, host: HostContext,
): ProgramTool {
  const off = tools.switchedOff(name)
  const tool = off === undefined ? tools.get(name) : undefined
  if (!tool) return { tool: name, may: [], gated: false, denied: off ?? `There is no tool "${name}".` }
  const { power, floor } = policy.forTool(tool)
  const denied = deniedAlways(tool, policy, host)
  return {
    tool: name,
    may: powerPhrases(powerItems(power), 'may'),
    gated: tool.definition.gated || floor !== undefined,
    ...(denied && { denied: denied.reason }),
  }
}
