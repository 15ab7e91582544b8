import type { AllowedCall, Call, DecidedCall, ExecutedCall, HostContext, StartedCall } from '../policy/call.ts'
import type { ReplayedCall, Stub } from '../policy/stub.ts'
import { allowedBefore } from './authorize.ts'

/** undefined for a call that is not replayed, and for those that tools make. */
export const replayOf = ({ id, parent, session }: Call, { replays }: HostContext): ReplayedCall | undefined =>
  replays.size === 0 || parent ? undefined : replays.get(session.id)?.get(id)

/** The answer that the call got when it was recorded. No one is asked. Throws the error of a refusal. */
export function answerFor({ refusal }: Stub, decided: DecidedCall, host: HostContext): AllowedCall {
  if (refusal) throw refusal
  return allowedBefore(decided, host)
}

/** In place of the tool: the call never runs, and is recorded as such. Throws the error of the recorded call. */
export function executeStub({ started: { call, decision } }: StartedCall, stub: Stub): ExecutedCall {
  if (stub.refusal) throw stub.refusal
  return { call, decision, reading: stub.answer(call.tool.returns.satisfies) }
}
