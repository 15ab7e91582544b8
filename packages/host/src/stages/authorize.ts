import { CALL_LIMITS, type ApprovalAnswer } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import { meaningByKey, meaningOf, type CallMeaning } from '../permissions/call-meaning.ts'
import { outside } from '../permissions/describe-grant.ts'
import { judge } from '../permissions/judgement.ts'
import { allow, deny, refusalOf, strictest, type Decision, type Verdict } from '../permissions/verdict.ts'
import { haltIfHeadless } from '../sessions/halt.ts'

/** Who must agree, agrees. The strictest verdict holds, and where that is `ask`, one person is asked one question. */
export async function authorize(call: ValidatedCall, host: HostContext): Promise<AuthorizedCall | Refusal> {
  const { tool, session: { policy } } = call
  const denied = policy.standing(tool).denied ?? beyondParent(call)
  if (denied) return refuse(call, host, denied, tool.name)
  const read = needsKey(call) ? meaningOf(call, host) : meaningByKey(tool.name)
  const meaning = read instanceof Promise ? await read : read
  const { approvalKey } = meaning
  const verdicts = await judge(call, meaning)
  const verdict = strictest(verdicts)
  if (verdict?.action === 'deny') return refuse(call, host, verdict, approvalKey)
  if (verdict?.action !== 'ask') return permit(call, host, { ...(verdict ?? UNOPPOSED), approvalKey })
  return settleAsk(call, host, meaning, verdicts.filter(({ action }) => action === 'ask'))
}

const UNOPPOSED = allow('rules', 'no rule', 'it is not gated and nothing asks')

/** A tool cannot gain power by calling another: what that one may reach must lie within its own. */
function beyondParent({ tool, parent }: ValidatedCall): Verdict | undefined {
  if (!parent) return undefined
  const { tool: caller, depth } = parent
  const { subagentDepth } = CALL_LIMITS
  const refused = (source: string, reason: string) => deny('capability', 'CapabilityDenied', source, reason)
  if (depth > subagentDepth) return refused('depth', `tools call each other ${subagentDepth} deep at most`)
  const more = outside(tool.grant, caller.grant)
  if (more.length === 0) return undefined
  return refused(`powers of ${caller.name}`, `"${caller.name}", which calls it, may not ${more.join('; ')}`)
}

/** A key that nobody would look at is not worth starting a compartment for. */
function needsKey({ tool, session: { policy } }: ValidatedCall): boolean {
  if (tool.definition.gated || policy.standing(tool).floor) return true
  return policy.lineage.some(({ rules, watchdog }) => rules.length > 0 || watchdog !== undefined)
}

async function settleAsk(
  call: ValidatedCall, host: HostContext, { approvalKey, subjects }: CallMeaning, asks: readonly Verdict[],
): Promise<AuthorizedCall | Refusal> {
  const { tool, session: { policy, approvals, interactions } } = call
  const permitted = (source: string, reason: string) => permit(call, host, { stage: 'approval', source, reason, approvalKey })
  const rejected = (source: string, reason: string) =>
    refuse(call, host, deny('approval', 'ApprovalDenied', source, reason), approvalKey)
  if (policy.mode === 'yolo') return permitted('mode yolo', 'the mode turns ask into allow')
  const approved = (): boolean => approvals.has(tool, approvalKey) || subjects.every(({ key }) => approvals.has(tool, key))
  const answerable = asks.every(({ answeredByApproval }) => answeredByApproval)
  if (answerable && policy.allowlisted(tool, subjects)) return permitted('allowlist', 'the key is on the allowlist')
  if (answerable && approved()) return permitted('approval', 'the key was approved before')
  const headless = (reason: string) => {
    haltIfHeadless(call, 'Approve')
    return rejected('headless', reason)
  }
  if (!interactions.canApprove) return headless('a person would have to agree and nobody is there to be asked')
  const answeredMeanwhile = (): ApprovalAnswer | undefined =>
    answerable && approved() ? { decision: 'once' } : undefined
  const resume = call.parent?.pause()
  const request = approvalRequest(call, approvalKey, asks)
  const { decision, reason, nobody } = await interactions.approve(request, call.signal, answeredMeanwhile).finally(resume)
  if (nobody) return headless(reason ?? 'nobody is there to be asked')
  if (decision === 'reject') return rejected('person', reason ?? 'a person said no')
  if (decision !== 'once') approvals.remember(tool, approvalKey, decision)
  return permitted('person', reason ?? `approved: ${decision}`)
}

function permit(call: ValidatedCall, host: HostContext, { stage, source, reason, approvalKey }: Decision): AuthorizedCall {
  const decision = { stage, source, reason, approvalKey }
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), decision: 'allow', ...decision, args: call.args })
  return { ...call, decision }
}

function refuse(call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Refusal {
  const { stage, source, reason } = verdict
  const decided = { decision: 'deny', stage, source, reason, approvalKey, args: call.args } as const
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
