import type { Outcome } from '@bulkhead/contract'
import { findJsonFault, type Json } from '@bulkhead/kit/json'
import type { CallRun } from '../model/call-run.ts'
import { callOf, ValidatedCall, type HostContext, type StageRecord } from '../policy/call.ts'
import type { Decision } from '../policy/decision.ts'

/** Hands a call that has settled to the recording of its session. */
export function recordCall({ number, reached }: CallRun<StageRecord>, outcome: Outcome, { clock }: HostContext): void {
  const call = callOf(reached)
  const { metadata, ...body } = outcome
  const decision = 'decision' in reached ? reached.decision : undefined
  call.session.recording!.add({
    number: number!, id: call.id, tool: call.name, origin: metadata.origin,
    at: new Date(clock.now() - metadata.duration_ms).toISOString(),
    ...(call.parent && { parentCallId: call.parent.callId }),
    ...(decision && { decision: saidIn(decision), reason: decision.verdict.reason }),
    arguments: argumentsOf(call instanceof ValidatedCall ? call.proposed ?? call.args : call.request.args),
    outcome: body as unknown as Json, metadata,
  })
}

/** What the policy says, apart from earlier approvals. */
export const saidIn = ({ verdict, approvals }: Pick<Decision, 'verdict' | 'approvals'>): Decision['verdict']['action'] =>
  approvals !== undefined && verdict.action === 'allow' ? 'ask' : verdict.action

/** Of a call that was refused before they were checked: anything. */
const argumentsOf = (args: unknown): Json => findJsonFault(args) === undefined ? args as Json : null
