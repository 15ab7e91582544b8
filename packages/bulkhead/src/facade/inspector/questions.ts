import type { ApprovalRequest, InteractionRequest } from '@bulkhead/contract'
import {
  openQuestions, passkeyRequest, type AnswerFate, type DeskQuestion, type InspectedSession, type QuestionBook, type WaitingQuestion,
} from '@bulkhead/host'
import type { OpenQuestion, QuestionChange, QuestionSource } from '@bulkhead/inspector'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'

const WORDS: Readonly<Record<AnswerFate, string>> = {
  taken: 'The host goes on with the answer.',
  stored: 'The answer is stored. The call goes on when its session resumes it.',
  unseen: 'The answer waits for its host, which has not confirmed it yet. It counts if no other comes first.',
}

/** The questions of this process, those of other hosts on the store, and those of paused calls. */
export function questionsOf(host: Host, { core: { inside }, store, id: own, passkeys }: Inspectable): QuestionSource {
  const book: QuestionBook | undefined = store.forgets ? undefined : openQuestions(store, passkeys)
  const atDesk = (): readonly OpenQuestion[] => {
    const sessions = new Map(inside.sessions().map((session) => [session.id, session]))
    return inside.desk.questions.map((question) => deskQuestion(question, own, sessions))
  }
  const stored = async (): Promise<readonly OpenQuestion[]> =>
    (await book?.list() ?? []).filter((question) => question.host !== own).map((question) => storedQuestion(question, own))
  /** Other hosts keep passwords and codes out of the store, and show that someone waits for them. */
  const hidden = async (): Promise<readonly OpenQuestion[]> => {
    const hosts = book === undefined ? [] : await host.hosts()
    return hosts.filter(({ id, state }) => id !== own && state !== 'gone').flatMap(({ id: asking, pid, machine, questions }) =>
      questions.filter(({ row }) => HIDDEN.has(row['kind'])).map(({ id, row }) => hiddenQuestion(
        id, row, asking, `It waits in process ${pid} on ${machine || 'this machine'}. Answer it there.`)))
  }
  return {
    async list() {
      const all = await Promise.all([atDesk(), stored(), hidden()])
      return all.flat().toSorted((a, b) => a.since - b.since)
    },
    async answer({ id, round }, answer, by, origin) {
      if (round !== undefined) return WORDS[await book!.answer(id, answer, { by, way: 'inspector', round, origin })]
      inside.desk.answer(id, answer, origin)
      return WORDS.taken
    },
    async passkey({ id, round, request }, value) {
      if (round !== undefined) return book!.passkey(id, value)
      return request && passkeyRequest(request, value, passkeys)
    },
    onChange: (listener) => inside.desk.onChange(({ is, question }) => listener({ is, ...askedBy(question) })),
  }
}

const HIDDEN: ReadonlySet<Json | undefined> =
  new Set<InteractionRequest['kind']>(['Auth.Password', 'Auth.DeviceCode', 'trustProject'])

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
    ...askedIn(request), id: correlationId, since: Date.parse(issuedAt), host, session, call, principal: principal?.id,
    agent: approvalOf(request)?.agent ?? (session === undefined ? undefined : sessions.get(session)?.agent?.name),
    source, paused: false, unanswerable,
  }
}

function storedQuestion(question: WaitingQuestion, own: string): OpenQuestion {
  const { id, round, host, since, source, request, callId, sessionId, principal, paused = false } = question
  const approval = approvalOf(request)
  return {
    ...askedIn(request), id, round, host: host || own, since, source, paused, principal, agent: approval?.agent,
    session: approval?.sessionId ?? sessionId, call: callId, unanswerable: undefined,
  }
}

function hiddenQuestion(id: string, row: JsonObject, host: string, unanswerable: string): OpenQuestion {
  const { since, kind, source } = row
  return {
    id, since: typeof since === 'number' ? since : 0, host, session: undefined, call: undefined, principal: undefined,
    agent: undefined, source: typeof source === 'string' ? source : 'host', request: undefined, paused: false,
    kind: typeof kind === 'string' ? kind : 'question', unanswerable, arguments: undefined, limits: false,
  }
}

/** A person may limit an approval, and change the arguments of a call. */
const askedIn = (request: InteractionRequest): Pick<OpenQuestion, 'request' | 'kind' | 'arguments' | 'limits'> =>
  ({ request, kind: request.kind, arguments: argumentsOf(request), limits: request.kind === 'Approve' })

function argumentsOf(request: InteractionRequest): JsonObject | undefined {
  if (request.kind !== 'Approve') return undefined
  try {
    const parsed = JSON.parse(request.approval.argumentsText) as Json
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
