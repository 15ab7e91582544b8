import { hash } from 'node:crypto'
import type { ApprovalRequest, InteractionRequest, OfferedAnswer } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { WaitingAnswer, WaitingApproval, WaitingItem, WaitingQuestion } from '../../protocol.ts'
import type { OpenQuestion } from '../inspected.ts'

/** Of everything that is shown. */
export const digestOf = ({ id, request, kind, source }: OpenQuestion): string =>
  hash('sha256', JSON.stringify([id, kind, source, request ?? null])).slice(0, 32)

/** `readOnly`: why nothing is answered here. */
export function waitingItem(question: OpenQuestion, readOnly: string | undefined, laterUntil: number | undefined): WaitingItem {
  const { request, since, session, call, principal, agent, host, paused, id } = question
  const unanswerable = question.unanswerable ?? readOnly
  const common = {
    id, digest: digestOf(question), since, host: shownText(host), paused,
    ...(session !== undefined && { session: shownText(session) }), ...(call !== undefined && { call: shownText(call) }),
    ...(principal !== undefined && { principal: shownText(principal) }), ...(agent !== undefined && { agent: shownText(agent) }),
    ...(laterUntil !== undefined && { laterUntil }), ...(unanswerable !== undefined && { unanswerable }),
  }
  const approval = request && approvalIn(request)
  if (approval) return { ...common, ...approvalParts(approval, question) }
  return { ...common, ...questionParts(question) }
}

export function approvalIn(request: InteractionRequest): ApprovalRequest | undefined {
  return request.kind === 'Approve' || request.kind === 'grantStageTool' ? request.approval : undefined
}

type Parts<Item> = Omit<Item, 'id' | 'digest' | 'since' | 'host' | 'paused'>

function approvalParts(approval: ApprovalRequest, { request, arguments: args, limits }: OpenQuestion): Parts<WaitingApproval> {
  const { tool, label, mode, origin, diff, argumentsText, notRecorded, leavesOut = [], calledBy = [] } = approval
  const command = commandIn(approval)
  const offers = request?.kind === 'grantStageTool' ? approval.answers.filter(({ decision }) => decision === 'once') : approval.answers
  return {
    kind: 'approval', tool: shownText(tool), label: shownText(label), mode, origin: shownText(origin),
    chain: [...calledBy, tool].map(shownText), ...(command !== undefined && { command: lines(command) }),
    ...(diff !== undefined && { diff: lines(diff) }), argumentsText: lines(argumentsText),
    ...(args !== undefined && { arguments: args }), reasons: approval.reasons.map(lines),
    touches: approval.touches.map(shownText), mayTouch: approval.mayTouch.map(shownText),
    ...(notRecorded !== undefined && { notRecorded: shownText(notRecorded) }), leavesOut: leavesOut.map(shownText),
    answers: offers.map((offer) => answerOf(offer, approval, limits)), ...(approval.passkey && { passkey: true as const }),
  }
}

export const answerId = ({ decision, covers }: OfferedAnswer): string => `${decision}-${covers}`

function answerOf(offer: OfferedAnswer, { tool }: ApprovalRequest, limits: boolean): WaitingAnswer {
  const { decision, words, keys = [], narrower = [] } = offer
  const [key] = keys
  return {
    id: answerId(offer), words: shownText(words),
    lasts: decision === 'once' ? 'call' : decision === 'session' ? 'session' : 'always',
    limits: decision === 'once' || !limits ? [] : ['until', 'times'],
    ...(key !== undefined && keys.length === 1 && {
      rule: { permission: shownText(tool), pattern: shownText(key), action: 'allow' as const }, narrower: narrower.map(shownText),
    }),
  }
}

/** Tools that run commands have it in an argument of this name. */
function commandIn({ argumentsText, kind }: ApprovalRequest): string | undefined {
  if (kind !== 'execute') return undefined
  let parsed: Json
  try {
    parsed = JSON.parse(argumentsText) as Json
  } catch {
    return undefined
  }
  const { command, cmd, code } = isJsonObject(parsed) ? parsed : {}
  return [command, cmd, code].find((value) => typeof value === 'string')
}

function questionParts({ request, source, kind, paused }: OpenQuestion): Parts<WaitingQuestion> {
  const asked = request as WaitingQuestion['request'] | undefined
  const elsewhere = `A question of the kind ${shownText(kind)}. The process that asks shows it.`
  return {
    kind: 'question', from: shownText(source), chain: [],
    request: asked === undefined ? { kind: 'Confirm', prompt: elsewhere }
      : shownDeep(asked as unknown as Json) as unknown as WaitingQuestion['request'],
    ...(asked === undefined && !paused && { unanswerable: 'Another process asks. Answer it there.' }),
  }
}

/** Every string of a question, also names of fields: they come from a tool. */
function shownDeep(value: Json): Json {
  if (typeof value === 'string') return lines(value)
  if (Array.isArray(value)) return value.map(shownDeep)
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shownDeep(member!)])) : value
}

const shownText = (text: string): string => visibleText(text)
const lines = (text: string): string => visibleText(text, { keepLines: true })
