import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ExecutedCall, type RawCall } from './call.ts'
import { untilAborted } from './cancellation.ts'
import type { HostContext } from './host-context.ts'
import { SKIPPED_BY_STEERING } from './outcome.ts'
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

/** A call that is decided on and has not run: refused, or ready to. */
export interface PreparedCall {
  readonly call: RawCall
  readonly decided: AuthorizedCall | Refusal
}

/** One call from the caller's words to its one outcome. Contract: never rejects. */
export async function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  return finishCall(await prepareCall(proposal, host), host)
}

/** Everything that can be said of a call before it runs, a person's word included. Contract: never rejects. */
export async function prepareCall(proposal: Proposal, host: HostContext): Promise<PreparedCall> {
  const words = readWords(proposal.call)
  const names = { id: repeatable(words.id), name: repeatable(words.name) }
  const call: RawCall = { ...proposal.scope, ...names, input: undefined, timeoutMs: undefined }
  return { call, decided: await orRefusal(() => decide(words, proposal, host)) }
}

/** Contract: never rejects. */
export async function finishCall({ call, decided }: PreparedCall, host: HostContext): Promise<Outcome> {
  const ended = decided instanceof Refusal ? decided : await orRefusal(() => perform(decided, host))
  return end(call, ended, host)
}

/**
 * For a call that gives way to what the person has said meanwhile. It is told as one that began and ended, so that whoever
 * counts beginnings finds an end for each. One that was refused stays refused. Contract: never rejects.
 */
export function skipCall({ call, decided }: PreparedCall, host: HostContext): Promise<Outcome> {
  if (decided instanceof Refusal) return end(call, decided, host)
  host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: 0 })
  return end(call, new Refusal(new BulkheadError('SkippedBySteering', SKIPPED_BY_STEERING)), host)
}

/** Nothing of the call is left afterwards. */
async function end(call: RawCall, ended: ExecutedCall | Refusal, host: HostContext): Promise<Outcome> {
  const { progress } = call
  try {
    return await settle(call, ended, host)
  } finally {
    progress.release?.()
    progress.journal?.close()
  }
}

/** The only place where a throw becomes an outcome. */
async function orRefusal<Stage>(work: () => Promise<Stage>): Promise<Stage | Refusal> {
  try {
    return await work()
  } catch (thrown) {
    return new Refusal(BulkheadError.from(thrown))
  }
}

async function decide(words: Words, { scope, timeoutMs }: Proposal, host: HostContext): Promise<AuthorizedCall | Refusal> {
  scope.signal.throwIfAborted()

  const received = receive(words, timeoutMs, scope)
  if (received instanceof Refusal) return received

  const resolved = resolve(received)
  if (resolved instanceof Refusal) return resolved

  const validated = validate(resolved)
  if (validated instanceof Refusal) return validated
  host.events.emit({ type: 'ToolInvocationProposed', ...eventFields(validated), args: validated.args })
  scope.progress.journal = host.journal.open(validated)

  return authorize(validated, host)
}

async function perform(authorized: AuthorizedCall, host: HostContext): Promise<ExecutedCall | Refusal> {
  authorized.signal.throwIfAborted()

  const budgeted = reserve(authorized)
  if (budgeted instanceof Refusal) return budgeted
  authorized.progress.budgeted = budgeted

  const cleared = await runBeforeHooks(budgeted)
  if (cleared instanceof Refusal) return cleared

  const { journal } = authorized.progress
  if (journal) await untilAborted(journal.written, authorized.signal)

  return execute(cleared, host)
}
