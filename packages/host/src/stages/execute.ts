import { BulkheadError, CALL_LIMITS, type Json } from '@bulkhead/contract'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { attemptsSpent, backOffMs, mayTryAgain, rest } from '../attempts.ts'
import { eventFields, type ClearedCall, type ExecutedCall } from '../call.ts'
import { onAbort, untilAborted } from '../cancellation.ts'
import { Deadline } from '../deadline.ts'
import type { HostContext } from '../host-context.ts'
import { identityOf } from '../interaction/paused-calls.ts'
import { QuestionLog } from '../interaction/question-log.ts'

/** What one attempt came to: an answer, which may itself report an error, or what ended it. */
type Attempt = { readonly reading: Reading } | { readonly error: BulkheadError }

/** Runs the tool in its compartment, again where that does no harm. Throws what ended the last attempt. */
export async function execute(call: ClearedCall, host: HostContext): Promise<ExecutedCall> {
  for (let attempt = 1; ; attempt++) {
    call.signal.throwIfAborted()
    call.progress.attempt = attempt
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt })
    const result = await attemptOnce(call, host, attempt)
    const failure = failureIn(result)
    const again = failure !== undefined && mayTryAgain(failure, call.tool.definition)
    if (again && attempt < CALL_LIMITS.attempts) {
      await rest(host.clock, backOffMs(attempt), call.signal)
      continue
    }
    if (again && failure.class === 'ToolTransient') throw attemptsSpent(call.name, failure)
    if ('error' in result) throw result.error
    return { ...call, reading: result.reading }
  }
}

async function attemptOnce(call: ClearedCall, host: HostContext, attempt: number): Promise<Attempt> {
  try {
    return { reading: readReturn(await callCompartment(call, host, attempt)) }
  } catch (thrown) {
    call.signal.throwIfAborted()
    return { error: attributed(BulkheadError.from(thrown)) }
  }
}

async function callCompartment(call: ClearedCall, host: HostContext, attempt: number): Promise<Json> {
  const { tool, signal } = call
  const { running } = tool.extension
  const compartment = tool.extension.compartment ?? await untilAborted(tool.extension.start(call.session.interactions), signal)
  const ending = new AbortController()
  const timeoutMs = call.timeoutMs ?? tool.timeoutMs
  const deadline = new Deadline(host.clock, timeoutMs, () => ending.abort(overdue(tool.name, timeoutMs)))
  const forget = onAbort(signal, () => ending.abort(signal.reason))
  const callId = running.enter({
    call, deadline, signal: ending.signal, end: (reason) => ending.abort(reason), questions: questionsOf(call),
  }, attempt)
  try {
    return await untilAborted(compartment.call({
      callId,
      tool: tool.name,
      args: call.args,
      signal: ending.signal,
      onProgress: (text) => host.events.emit({ type: 'ToolInvocationProgress', ...eventFields(call), text }),
      onUpdate: (partial) => host.events.emit({ type: 'ToolInvocationUpdated', ...eventFields(call), partial }),
    }), ending.signal)
  } finally {
    deadline.stop()
    forget()
    running.leave(callId)
  }
}

/** What it was told before it paused; another tool than the one that asked is told nothing. */
function questionsOf(call: ClearedCall): QuestionLog {
  const { resumption } = call
  return new QuestionLog(resumption !== undefined && resumption.identity === identityOf(call) ? resumption.asked : [])
}

/** A tool that claims a cancellation, which would end the run of the model, has failed like any other: ours are not claimed. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}

function failureIn(attempt: Attempt) {
  if ('error' in attempt) return attempt.error
  const { body } = attempt.reading
  return body.type === 'error' ? { ...body.error, message: body.error_text } : undefined
}

const overdue = (tool: string, timeoutMs: number) =>
  new BulkheadError('ExecutionTimeout', `The tool "${tool}" did not answer within ${timeoutMs} ms.`, { data: { timeoutMs } })
