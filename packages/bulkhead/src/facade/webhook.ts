import { setTimeout as wait } from 'node:timers/promises'
import { postOnce } from '@bulkhead/broker'
import { ANSWER_LIMITS } from '@bulkhead/contract'
import type { AnswerLinks, LinkedQuestion, LinkedQuestions } from '@bulkhead/inspector/links'
import { signMessage } from '@bulkhead/kit/signed-message'

/** The purpose of a message that the host signs. An answer has another one. */
export const QUESTION_PURPOSE = 'question to a webhook'

export interface WebhookOptions {
  readonly url: string
  /** At least 32 characters. Signs what is sent. */
  readonly secret: string
  /** Addresses that are not public and may be reached. */
  readonly addresses?: readonly string[]
  readonly questions: Pick<LinkedQuestions, 'list'>
  readonly links: Pick<AnswerLinks, 'link' | 'callback'>
  /** Contract: must not throw. */
  readonly onFault: (error: unknown) => void
  readonly everyMs?: number
}

const EVERY_MS = 1_000
/** After an attempt. After the last one the question is answered elsewhere. */
const PAUSES_MS = Array.from({ length: ANSWER_LIMITS.webhookAttempts - 1 }, (_, index) => 1_000 * 4 ** index)

/** Sends each question once, and once more that it is over, until the signal is aborted. Never rejects. */
export async function runWebhook(options: WebhookOptions, signal: AbortSignal): Promise<void> {
  const { questions, onFault, everyMs = EVERY_MS } = options
  const sent = new Map<string, LinkedQuestion>()
  while (!signal.aborted) {
    try {
      const waiting = new Map((await questions.list()).map((question) => [`${question.id}.${question.round}`, question]))
      for (const [key, { id, round }] of sent) {
        if (waiting.has(key)) continue
        sent.delete(key)
        void deliver({ type: 'over', id, round }, options, signal)
      }
      for (const [key, question] of waiting) {
        if (sent.has(key)) continue
        sent.set(key, question)
        void deliver(messageOf(question, options), options, signal)
      }
    } catch (thrown) {
      onFault(thrown)
    }
    await wait(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

function messageOf(question: LinkedQuestion, { links }: WebhookOptions): object {
  const { id, round, since, source, request, sessionId, paused } = question
  return {
    type: 'question', id, round, since, source, request, ...(sessionId !== undefined && { sessionId }),
    ...(paused && { paused }), link: links.link(question), answerTo: links.callback,
  }
}

/** Each attempt is signed anew: a nonce counts once. */
async function deliver(message: object, options: WebhookOptions, signal: AbortSignal): Promise<void> {
  const { url, secret, addresses = [], onFault } = options
  const body = JSON.stringify(message)
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    try {
      const headers = { 'content-type': 'application/json', ...signMessage(secret, QUESTION_PURPOSE, body, Date.now()) }
      const status = await postOnce({ url, headers, body, addresses, timeoutMs: ANSWER_LIMITS.webhookMs, signal })
      if (status >= 200 && status < 300) return
      throw new Error(`The webhook answered with ${status}.`)
    } catch (thrown) {
      if (signal.aborted) return
      if (pauseMs === undefined) return onFault(thrown)
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
