import { setTimeout as wait } from 'node:timers/promises'
import { BulkheadError, type InteractionRequest, type InteractionResponse, type PasskeyRing, type Store } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { asJson, type Json } from '@bulkhead/kit/json'
import { readResponse, requireApproval } from './interactors.ts'
import { checkedSignature, passkeyRequest, requirePasskey, signedParts, type PasskeyRequest } from './passkeys.ts'
import { hostsThatLeft, storeAnswer, waitingCalls } from './paused-record.ts'
import { questionDigest, readStored, type StoredQuestion } from './stored-question.ts'

/** A question of any host on the store. */
export interface WaitingQuestion extends Omit<StoredQuestion, 'endedAt'> {
  readonly state: 'waits' | 'answered' | 'ended'
  /** The call has ended, and goes on when a session resumes it with the answer. */
  readonly paused?: true
}

export interface AnswerFrom {
  /** Who answers, for the list of approvals and the audit. */
  readonly by: string
  readonly way: string
  /** The round that the person saw. Default: the present one. */
  readonly round?: number
  /** The origin of the page that showed the question, for a passkey. */
  readonly origin?: string
}

/**
 * taken: the host goes on with it. stored: the call is paused, and a session that resumes it gets the answer. unseen: no
 * host has confirmed it in time; it counts when one does, if nothing else was first.
 */
export type AnswerFate = 'taken' | 'stored' | 'unseen'

/** The questions of all hosts on one store, for other processes. Every method rejects with StoreUnavailable. */
export interface QuestionBook {
  /** Those that wait, oldest first. */
  list(): Promise<readonly WaitingQuestion[]>
  /** One by its id, also if it has ended within the last day. */
  find(id: string): Promise<WaitingQuestion | undefined>
  /**
   * The first answer counts. Rejects with NotFound, InteractionAlreadyAnswered, or InputInvalid for an answer that does
   * not fit; then the question waits on.
   */
  answer(id: string, response: InteractionResponse, from: AnswerFrom): Promise<AnswerFate>
  /** What a page asks the browser for, if the question demands a passkey. Rejects with NotFound. */
  passkey(id: string, value: Json): Promise<PasskeyRequest | undefined>
}

const CONFIRM_MS = 3_000
const LOOK_MS = 50

/** Opens no host, and needs none: a paused call is answered in the store. `ring`: for answers with a passkey. */
export function openQuestions(store: Store, ring?: PasskeyRing): QuestionBook {
  // A host that is silent for long may still be alive. Its stored calls can be answered, so its questions do not wait.
  const isGone = async (host: string): Promise<boolean> =>
    (await hostsThatLeft(store)).has(host) || await store.work?.isGone(host) === true
  async function stateOf(stored: StoredQuestion): Promise<WaitingQuestion> {
    const { endedAt, answer } = stored
    const state = answer ? 'answered' : endedAt !== undefined || await isGone(stored.host) ? 'ended' : 'waits'
    return { ...stored, state }
  }
  const paused = async (): Promise<readonly (WaitingQuestion & { readonly key: string })[]> =>
    Promise.all((await waitingCalls(store)).map(async ({ key, call, question, pausedAt, sessionId, principal }) => {
      const id = questionDigest(question, { correlationId: key })
      const earlier = readStored(await store.read('question', id))
      return {
        key, id, round: earlier?.round ?? 0, host: '', since: Date.parse(pausedAt), source: call.name, request: question,
        callId: call.id, sessionId, ...(principal !== undefined && { principal }), state: 'waits', paused: true,
      }
    }))

  async function find(id: string): Promise<(WaitingQuestion & { readonly key?: string }) | undefined> {
    const stored = readStored(await store.read('question', id))
    const live = stored && await stateOf(stored)
    return live?.state === 'waits' ? live : (await paused()).find((one) => one.id === id) ?? live
  }

  /** Resolves when the asking host has said what became of the answer. */
  async function confirmed(id: string, round: number): Promise<AnswerFate> {
    for (let left = CONFIRM_MS / LOOK_MS; left > 0; left--) {
      const stored = readStored(await store.read('question', id))
      if (stored?.round !== round || stored.answer?.taken === false) throw answeredBefore(id)
      if (stored.answer === undefined) throw unfit(id, stored.refused ?? 'the host did not take it')
      if (stored.answer.taken) return 'taken'
      await wait(LOOK_MS)
    }
    return 'unseen'
  }

  return {
    async list() {
      const stored = (await store.list('question')).flatMap(({ value }) => readStored(value) ?? [])
      const open = await Promise.all(stored.filter(({ endedAt }) => endedAt === undefined).map(stateOf))
      const all = [...open.filter(({ state }) => state === 'waits'), ...await paused()]
      return all.map(withoutKey).toSorted((a, b) => a.since - b.since)
    },
    async find(id) {
      const found = await find(id)
      return found && withoutKey(found)
    },
    async passkey(id, value) {
      const question = await find(id)
      if (question === undefined) throw noSuch(id)
      return passkeyRequest(question.request, value, ring)
    },
    async answer(id, given, { by, way, round, origin }) {
      const question = await find(id)
      if (question === undefined) throw noSuch(id)
      if (question.state !== 'waits' || (round !== undefined && round !== question.round)) throw answeredBefore(id, question)
      const response = sealed(checked(question.request, given, id), question.request, origin, ring)
      const answer = { response, by, way, at: Date.now() }
      if (question.key !== undefined) {
        const value = response.status === 'accepted' ? signedValue(response.value, by) : REJECTED
        const passkey = response.status === 'accepted' ? response.passkey : undefined
        // The host that goes on with the call checks it again, and that it was not used.
        if (passkey) checkedSignature(signedParts(question.request, value)!, passkey, { ring, page: origin })
        await storeAnswer(store, question.key, value, passkey)
        // Its link is used, too.
        await store.update('question', id, (stored) => {
          const record = readStored(stored)
          return record ? asJson({ ...record, answer: { ...answer, taken: true } }) : stored
        })
        return 'stored'
      }
      await store.update('question', id, (value) => {
        const stored = readStored(value)
        const isOpen = stored?.round === question.round && stored.answer === undefined && stored.endedAt === undefined
        if (!isOpen) throw answeredBefore(id, stored)
        const { refused: _refused, ...open } = stored
        return asJson({ ...open, answer })
      })
      return confirmed(id, question.round)
    },
  }
}

const REJECTED: Json = { decision: 'reject' }

function signedValue(value: Json, by: string): Json {
  const isDecision = typeof value === 'object' && value !== null && !Array.isArray(value) && 'decision' in value
  return isDecision ? { ...value, by } : value
}

function withoutKey({ key: _key, ...question }: WaitingQuestion & { readonly key?: string }): WaitingQuestion {
  return question
}

function checked(request: InteractionRequest, response: InteractionResponse, id: string): InteractionResponse {
  try {
    if (request.kind === 'Approve' && response.status === 'accepted') requireApproval(response.value)
    const read = readResponse(request, response)
    requirePasskey(request, read)
    return read
  } catch (thrown) {
    throw unfit(id, messageOf(thrown))
  }
}

/** With the word of this process about the page, for the host that asks. */
function sealed(
  response: InteractionResponse, request: InteractionRequest, origin: string | undefined, ring: PasskeyRing | undefined,
): InteractionResponse {
  if (response.status !== 'accepted' || !response.passkey || !('approval' in request)) return response
  const { page: _claimed, ...passkey } = response.passkey
  const page = origin === undefined ? undefined : ring?.seal(request.approval.passkey!.nonce, origin)
  return { ...response, passkey: { ...passkey, ...(page && { page }) } }
}

const noSuch = (id: string): BulkheadError => new BulkheadError('NotFound', `No question has the id ${id}.`, { data: { id } })
const unfit = (id: string, why: string): BulkheadError =>
  new BulkheadError('InputInvalid', `The answer to the question ${id} does not count: ${why}`, { data: { id } })

function answeredBefore(id: string, { answer }: Partial<Pick<StoredQuestion, 'answer'>> = {}): BulkheadError {
  const who = answer === undefined ? '' : ` by ${answer.by} (${answer.way}) at ${new Date(answer.at).toISOString()}`
  const message = `The question ${id} does not wait any more: it was answered${who}, or it ended.`
  return new BulkheadError('InteractionAlreadyAnswered', message, { data: { id, ...(answer && { by: answer.by }) } })
}
