import {
  BulkheadError, type InteractionKind, type InteractionRequest, type InteractionResponse,
} from '@bulkhead/contract'
import type { ValidatedCall } from '../policy/call.ts'
import { AskedCall } from '../policy/interaction/asked-call.ts'
import { approvalsIn } from '../policy/interaction/question-log.ts'
import { memoryOf } from '../policy/session-memory.ts'
import { shownCallers } from './approval-request.ts'
import { haltIfHeadless } from './authorize.ts'
import { pauseFor, type RunningCall } from './running-call.ts'

/** Questions whose answer can be stored until the call runs again. */
const PAUSABLE: ReadonlySet<InteractionKind> = new Set<InteractionKind>(['Ask', 'Select', 'Confirm'])

/**
 * A running tool asks the person of its session. The time of the call stops meanwhile. If no one answers and the
 * session pauses calls, the question is stored and the call ends until it is answered.
 */
export async function askForTool(
  running: RunningCall, question: InteractionRequest, source: string, signal: AbortSignal,
): Promise<InteractionResponse> {
  const { call, questions } = running
  const asker = askerOf(call, source)
  const known = questions.replay(question)
  if (known !== undefined) return { status: 'accepted', value: known }
  const resumeTime = pauseFor(running)
  const asked = isPausable(question) && running.mayRunAgain ? AskedCall.of(call) : undefined
  asked?.begin(question, askedSoFar(running), memoryOf(call.session, call.tool.extension.descriptor))
  try {
    const response =
      await call.session.interactions.raise(question, asker, AbortSignal.any([signal, running.signal]), { sessionId: call.session.id, callId: call.id })
    if (response.status === 'timeout') await pauseCall(running, question, asked)
    await asked?.over()
    questions.note(question, response.status === 'accepted' ? response.value : undefined)
    return response
  } catch (thrown) {
    if (!BulkheadError.is(thrown) || thrown.code !== 'InteractionUnavailable') throw thrown
    await pauseCall(running, question, asked)
    haltIfHeadless(call, question.kind)
    throw canWait(running, question) ? cannotContinue(call, thrown) : thrown
  } finally {
    // The tool has no answer that could take effect.
    await asked?.over().catch(() => undefined)
    resumeTime()
  }
}

/** A question of a tool that another tool calls names all of them: the person may know only the first. */
function askerOf(call: ValidatedCall, source: string): string {
  const callers = shownCallers(call)
  return callers.length === 0 ? source : `${[...callers, call.tool].map(({ name }) => name).join(' → ')} (${source})`
}

type Waiting = InteractionRequest & { readonly prompt: string }

/** Not if the session does not pause calls. A call made by a tool cannot pause: its caller would be gone. */
const canWait = ({ call }: RunningCall, question: InteractionRequest): question is Waiting =>
  call.session.paused !== undefined && call.parent === undefined && isPausable(question)

const isPausable = (question: InteractionRequest): question is Waiting =>
  PAUSABLE.has(question.kind) && 'prompt' in question

const askedSoFar = ({ call, questions }: RunningCall) => [...approvalsIn(call), ...questions.asked]

/** Does nothing if the call cannot wait, or would do something twice when it continues. */
async function pauseCall(
  running: RunningCall, question: InteractionRequest, asked: AskedCall | undefined,
): Promise<void> {
  if (!canWait(running, question) || !running.mayRunAgain) return
  const { call } = running
  const memory = memoryOf(call.session, call.tool.extension.descriptor)
  const pause = (as?: string) =>
    call.session.paused!.keep(call, question, askedSoFar(running), memory, { id: as })
  const id = await (asked?.handOver(pause) ?? pause())
  const message = `The tool "${call.tool.name}" waits for an answer: ${question.prompt}`
  const reason =
    new BulkheadError('ClarificationNeeded', message, { data: { paused: id, question: { ...question } } as never })
  running.end(reason)
  throw reason
}

const cannotContinue = ({ tool }: ValidatedCall, cause: BulkheadError): BulkheadError => new BulkheadError(
  'InteractionUnavailable',
  `No one answered the question of "${tool.name}", and its call cannot wait: it would repeat what it has begun. `
    + 'Let the tool ask before it acts, or act in `runtime.step`.', { cause },
)
