import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { eventFields, Refusal, type ExecutedCall, type RawCall } from './call.ts'
import type { HostContext } from './host-context.ts'
import { authorize } from './stages/authorize.ts'
import { runBeforeHooks } from './stages/before-hooks.ts'
import { reserve } from './stages/budget.ts'
import { execute } from './stages/execute.ts'
import { readWords, receive, repeatable, type CallScope, type Words } from './stages/receive.ts'
import { resolve } from './stages/resolve.ts'
import { settle } from './stages/settle.ts'
import { validate } from './stages/validate.ts'

/** A call as it comes in: the caller's words, and where and until when it is made. */
export interface Proposal {
  readonly scope: CallScope
  readonly call: unknown
  readonly timeoutMs: unknown
}

/**
 * One call from the caller's words to its one outcome. The only place where a throw becomes an outcome. Contract: never
 * rejects.
 */
export async function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const words = readWords(proposal.call)
  const names = { id: repeatable(words.id), name: repeatable(words.name) }
  const call: RawCall = { ...proposal.scope, ...names, input: undefined, timeoutMs: undefined }
  let ended: ExecutedCall | Refusal
  try {
    ended = await throughStages(words, proposal, host)
  } catch (thrown) {
    ended = new Refusal(BulkheadError.from(thrown))
  }
  return settle(call, ended, host).finally(call.progress.release)
}

async function throughStages(words: Words, { scope, timeoutMs }: Proposal, host: HostContext): Promise<ExecutedCall | Refusal> {
  scope.signal.throwIfAborted()

  const received = receive(words, timeoutMs, scope)
  if (received instanceof Refusal) return received

  const resolved = resolve(received, host.registry.offered())
  if (resolved instanceof Refusal) return resolved

  const validated = validate(resolved)
  if (validated instanceof Refusal) return validated
  host.events.emit({ type: 'ToolInvocationProposed', ...eventFields(validated), args: validated.args })

  const authorized = await authorize(validated, host)
  if (authorized instanceof Refusal) return authorized

  const budgeted = reserve(authorized)
  if (budgeted instanceof Refusal) return budgeted
  scope.progress.budgeted = budgeted

  const cleared = await runBeforeHooks(budgeted)
  if (cleared instanceof Refusal) return cleared

  return execute(cleared, host)
}
