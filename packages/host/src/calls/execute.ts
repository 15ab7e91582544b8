import { BulkheadError, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { eventFields } from '../model/event-fields.ts'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import { backoffMs, mayRetry, type Failure, type Retries } from '../model/retries.ts'
import type { Settings } from '../model/settings.ts'
import type { Attempts } from '../model/call-run.ts'
import type { AllowedCall, ExecutedCall, HostContext, StartedCall, ValidatedCall } from '../policy/call.ts'
import { noteStopped } from '../policy/command-walls.ts'
import { passAgain } from './gate.ts'
import { observe } from './hooks.ts'
import { RunningCall } from './running-call.ts'

/**
 * Runs the tool in its compartment, and repeats a failed attempt if that is safe and there is time. Throws the last
 * failure.
 */
export async function execute(
  { started: allowed }: StartedCall, attempts: Attempts, host: HostContext,
): Promise<ExecutedCall> {
  const { call } = allowed
  // A compartment that ended before it got the call: the next one gets it.
  let gone: CompartmentSession | undefined
  for (;;) {
    if (attempts.count > 0 && !gone) await passAgain(call, attempts, attempts.count + 1)
    if (!gone) beginAttempt(call, attempts, host)
    attempts.phases.enter('run', host.clock.monotonic())
    let compartment: CompartmentSession | undefined
    let result: Reading | BulkheadError
    let running: RunningCall | undefined
    try {
      compartment = gone ? undefined : call.tool.extension.compartment
      if (compartment === undefined) {
        attempts.phases.enter('start', host.clock.monotonic())
        compartment = await untilStarted(call, attempts, host.clock, gone)
        await passAgain(call, attempts, attempts.count)
        attempts.phases.enter('run', host.clock.monotonic())
      }
      // A hook may have cancelled it, or it was cancelled while the compartment started.
      call.throwIfCancelled()
      running = new RunningCall(allowed, attempts, host)
      result = readReturn(await running.run(compartment), call.tool.returns)
    } catch (thrown) {
      if (!running) attempts.effects.notStarted(attempts.count)
      call.throwIfCancelled()
      gone = isCompartmentGone(thrown) ? compartment : undefined
      if (gone) continue
      result = attributed(BulkheadError.from(thrown))
      const seen = { attempt: attempts.count, error: result }
      if (call.session.hooks.all.length > 0) observe('onToolError', call, host, seen)
    }
    const retries = retriesFor(call, host.registry.settings)
    const pauseMs = pauseBeforeRetry(call, attempts, result, retries)
    if (pauseMs === undefined) return finish(allowed, attempts, result, retries)
    attempts.phases.enter('queue', host.clock.monotonic())
    await sleep(host.clock, pauseMs, call.signal)
  }
}

/** What repeats a step is its caller. */
const retriesFor = ({ request }: ValidatedCall, { retries }: Pick<Settings, 'retries'>): Retries =>
  request.isStep ? { ...retries, attempts: 1 } : retries

function beginAttempt(call: ValidatedCall, attempts: Attempts, host: HostContext): void {
  call.throwIfCancelled()
  attempts.begin()
  const attempt = attempts.count
  if (host.events.hears('ToolInvocationStarted')) {
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt })
  }
  if (call.session.hooks.all.length > 0) observe('onBeforeTool', call, host, { attempt })
}

/** undefined if the result is final: it is none to retry, or attempts or time are spent. */
function pauseBeforeRetry(
  call: ValidatedCall, attempts: Attempts, result: Reading | BulkheadError, retries: Retries,
): number | undefined {
  const failure = failureOf(result, call)
  if (failure === undefined || attempts.count >= retries.attempts) return undefined
  if (!mayRetry(failure, call.tool.definition, retries)) return undefined
  const pauseMs = backoffMs(attempts.count, retries)
  attempts.use(pauseMs)
  return attempts.leftMs > 0 ? pauseMs : undefined
}

function failureOf(result: Reading | BulkheadError, call: ValidatedCall): Failure | undefined {
  if (result instanceof BulkheadError) {
    const { code, class: errorClass, retryable, message, data } = result
    return { code, class: errorClass, retryable, message, data, isException: isException(result) && !isBuiltHere(call) }
  }
  const { body } = result
  return body.type === 'output' ? undefined : { ...body.error, message: body.error_text }
}

function finish(
  { call, decision }: AllowedCall, attempts: Attempts, result: Reading | BulkheadError, retries: Retries,
): ExecutedCall {
  const failure = failureOf(result, call)
  const isSpent = failure?.class === 'ToolTransient' && attempts.count >= retries.attempts && retries.attempts > 1
    && mayRetry(failure, call.tool.definition, retries)
  const last = isSpent ? attemptsSpent(call.name, failure, retries) : result
  if (last instanceof BulkheadError) throw last
  if (last.body.type === 'output' && call.tool.origin.layer === 'bundled') {
    noteStopped(call.session, decision.analysis, last.body.data)
  }
  return { call, decision, reading: last }
}

/** A tool that reports a cancellation, which would end the run of the model, has failed. Only the host cancels. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message) : error
}

/** Thrown by the code of a tool or of a library in it. A `ToolError` is a report of the tool, which is final. */
const isException = ({ code, cause }: BulkheadError): boolean =>
  code === 'ToolExecutionFailed' && cause !== undefined && (cause as { readonly name?: unknown }).name !== 'ToolError'

/** Its developer, who waits for the stack, corrects it: the same code would throw again. */
function isBuiltHere({ tool }: ValidatedCall): boolean {
  const { code } = tool.extension.descriptor
  return code.kind === 'files' && code.origins !== undefined
}

function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopTimer = clock.after(ms, resolve)
  return untilAborted(promise, signal).finally(stopTimer)
}

/** The error of a call whose every attempt failed with a transient error. */
function attemptsSpent(
  tool: string, last: Pick<Failure, 'code' | 'message'>, { attempts }: Retries,
): BulkheadError {
  const message = `The tool "${tool}" failed ${attempts} times, the last time with ${last.code}: ${last.message}`
  return new BulkheadError('MaxRetriesExceeded', message, { data: { attempts, code: last.code } })
}
