import type { RequirementSet, ToolManifest } from '@bulkhead/contract'
import { isAccepted, type CallFact } from './calls.ts'
import { covers } from './needs.ts'
import { callIdOf } from './services.ts'
import { inCompartment, type RunTarget } from './target.ts'

const MOST_MS = 10_000

/** In a dry run, everything that a tool could declare. */
const ALL: RequirementSet = {
  fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] }, net: { hosts: ['*'] },
  shell: [{ cmd: '*', args: [{ rest: true }] }], capabilities: ['interact', 'tools.call', 'session'],
}

/**
 * The powers that tools need and do not declare, as the end of a sentence. Tools often catch the denial and report
 * something else, so a tool of which every valid call fails is called once more with every power.
 */
export async function findUndeclared(
  target: RunTarget, calls: readonly CallFact[],
): Promise<ReadonlyMap<ToolManifest, string>> {
  const causes = new Map<ToolManifest, string>()
  for (const tool of target.extension.manifest.tools) {
    const own = calls.filter((call) => call.tool === tool && isAccepted(call))
    // A path or host that a model chooses may lie outside the patterns. A part that is not declared never works.
    const denied = own.find(({ error }) => error?.undeclared)
      ?? (own.every(({ error }) => error?.code === 'CapabilityDenied') ? own[0] : undefined)
    const cause = denied?.error?.message
      ?? (own.every(({ error }) => error) && own[0] ? await usedWithAll(target, own[0]) : undefined)
    if (cause !== undefined) causes.set(tool, cause)
  }
  return causes
}

/** What the tool uses if it may, and does not declare. */
async function usedWithAll(target: RunTarget, { tool, args }: CallFact): Promise<string | undefined> {
  const { recorder, workspace, values, patience } = target
  // With real hosts and commands it must not do more than it declares.
  if (recorder === undefined || values !== undefined || patience.reason !== undefined) return undefined
  const call = { callId: callIdOf(tool.name, 'all'), tool: tool.name, args }
  // However the call ends, what it used is known.
  const uses = await recorder.aside(() => inCompartment(target, ({ session }) =>
    patience.wait(`"${tool.name}"`, MOST_MS, (signal) => session.call({ ...call, signal })), { also: ALL })
    .catch(() => undefined))
  const missing = uses.find((use) => use.tool === tool.name && !covers(tool.requires, use, workspace))
  return missing && `it uses ${missing.part} (${missing.subject.slice(0, 120)}), which its requires does not declare`
}
