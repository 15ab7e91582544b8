import { BulkheadError, type InteractionKind, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import { pauseFor, type RunningCall } from './running-call.ts'
import { haltIfHeadless } from '../policy/halt.ts'

/** Those whose answer can wait on a disk. */
const PAUSABLE: ReadonlySet<InteractionKind> = new Set<InteractionKind>(['Ask', 'Select', 'Confirm'])

/**
 * A question that a running tool asks the person of its session; the time of the call stands still meanwhile. Where nobody
 * answers and the session pauses, the question is kept and the call ends until it is answered.
 */
export async function askForTool(
  running: RunningCall, question: InteractionRequest, source: string, signal: AbortSignal,
): Promise<InteractionResponse> {
  const { call, questions } = running
  const known = questions.replay(question)
  if (known !== undefined) return { status: 'accepted', value: known }
  const resumeTime = pauseFor(running)
  try {
    const response = await call.session.interactions.ask(question, source, AbortSignal.any([signal, running.signal]), call.id)
    if (response.status === 'timeout') await pause(running, question)
    questions.note(question, response.status === 'accepted' ? response.value : undefined)
    return response
  } catch (thrown) {
    if (!BulkheadError.is(thrown) || thrown.code !== 'InteractionUnavailable') throw thrown
    await pause(running, question)
    haltIfHeadless(call, question.kind)
    throw thrown
  } finally {
    resumeTime()
  }
}

/** Does nothing where the session does not pause. A call made by a tool cannot: whoever made it would be gone. */
async function pause(running: RunningCall, question: InteractionRequest): Promise<void> {
  const { call } = running
  const { paused } = call.session
  if (!paused || call.parent || !PAUSABLE.has(question.kind) || !('prompt' in question)) return
  const id = await paused.keep(call, question, running.questions.asked)
  const message = `The tool "${call.tool.name}" waits for an answer: ${question.prompt}`
  const reason = new BulkheadError('ClarificationNeeded', message, { data: { paused: id, question: { ...question } } as never })
  running.end(reason)
  throw reason
}
