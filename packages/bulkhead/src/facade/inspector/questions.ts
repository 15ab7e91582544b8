import type { ApprovalRequest, InteractionRequest } from '@bulkhead/contract'

import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { OpenQuestion, QuestionAnswer, QuestionChange, QuestionSource } from '@bulkhead/inspector'
import type { DeskQuestion, InspectedSession, PausedCall } from '@bulkhead/host'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'

const PAUSED = 'paused:'

/** The questions of this process, those of other hosts on the store, and those that the store keeps. */
export function questionsOf(host: Host, { core: { inside }, store, id: own }: Inspectable): QuestionSource {
  const atDesk = (): readonly OpenQuestion[] => {
    const sessions = new Map(inside.sessions().map((session) => [session.id, session]))
    return inside.desk.questions.map((question) => deskQuestion(question, own, sessions))
  }
  const elsewhere = async (): Promise<readonly OpenQuestion[]> => {
    if (store.forgets) return []
    const hosts = await host.hosts()
    return hosts.filter(({ id, state }) => id !== own && state !== 'gone').flatMap(({ id: asking, pid, machine, questions }) =>
      questions.map(({ id, row }) => otherQuestion(id, row, asking, `It waits in process ${pid} on ${machine || 'this machine'}. Answer it there.`)))
  }
  const paused = async (): Promise<readonly OpenQuestion[]> =>
    (await host.pausedCalls()).filter(({ status }) => status === 'clarification_needed').map((call) => pausedQuestion(call, own))
  return {
    async list() {
      const all = await Promise.all([atDesk(), elsewhere(), paused()])
      return all.flat().toSorted((a, b) => a.since - b.since)
    },
    async answer(id, answer) {
      if (!id.startsWith(PAUSED)) return inside.desk.answer(id, answer)
      await inside.answerPaused(id.slice(PAUSED.length), storedAnswer(answer))
    },
    onChange: (listener) => inside.desk.onChange(({ is, question }) => listener({ is, ...askedBy(question) })),
  }
}

const approvalOf = (request: InteractionRequest): ApprovalRequest | undefined =>
  request.kind === 'Approve' || request.kind === 'grantStageTool' ? request.approval : undefined

/** A sub-agent asks the person of its parent: the session of the call is another one. */
function askedBy({ envelope: { sessionId }, call }: DeskQuestion): Omit<QuestionChange, 'is'> {
  return { session: call?.sessionId ?? sessionId, call: call?.callId }
}

function deskQuestion(
  question: DeskQuestion, host: string, sessions: ReadonlyMap<string, InspectedSession>,
): OpenQuestion {
  const { envelope: { correlationId, issuedAt, request, source, principal }, unanswerable } = question
  const { session, call } = askedBy(question)
  return {
    id: correlationId, since: Date.parse(issuedAt), host, session, call, principal: principal?.id,
    agent: approvalOf(request)?.agent ?? (session === undefined ? undefined : sessions.get(session)?.agent?.name),
    source, request, kind: request.kind, paused: false, unanswerable, arguments: argumentsOf(request),
    limits: request.kind === 'Approve',
  }
}

/** A person may change the arguments of a call. */
function argumentsOf(request: InteractionRequest): JsonObject | undefined {
  if (request.kind !== 'Approve') return undefined
  try {
    const parsed = JSON.parse(request.approval.argumentsText) as Json
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Other hosts show that a question waits, and not what it is. */
function otherQuestion(id: string, row: JsonObject, host: string, unanswerable: string): OpenQuestion {
  const { since, kind, source } = row
  return {
    id, since: typeof since === 'number' ? since : 0, host, session: undefined, call: undefined, principal: undefined,
    agent: undefined, source: typeof source === 'string' ? source : 'host', request: undefined,
    kind: typeof kind === 'string' ? kind : 'question', paused: false, unanswerable, arguments: undefined, limits: false,
  }
}

function pausedQuestion({ id, sessionId, principal, call, question, pausedAt }: PausedCall, host: string): OpenQuestion {
  return {
    id: `${PAUSED}${id}`, since: Date.parse(pausedAt), host, session: sessionId, call: call.id, principal, agent: undefined,
    source: call.name, request: question, kind: question.kind, paused: true, unanswerable: undefined,
    arguments: argumentsOf(question), limits: question.kind === 'Approve',
  }
}

/** A paused call keeps the value that a person answered with. */
function storedAnswer(answer: QuestionAnswer): Json {
  return answer.status === 'accepted' ? answer.value : { decision: 'reject', ...(answer.reason !== undefined && { reason: answer.reason }) }
}
