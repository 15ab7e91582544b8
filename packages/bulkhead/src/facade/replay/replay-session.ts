import { BulkheadError, requireOptions, type ErrorCode, type Outcome, type OutcomeBody, type RuleAction } from '@bulkhead/contract'
import type {
  Host, RecordedCall, Recording, ReplayedCall, ResumeOptions, Session, SessionOptions,
} from '@bulkhead/host'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import { firstDifference, type ValueDifference } from './difference.ts'

/** `session`: the options of the recorded session that are code, and its principal, as for `resumeSession`. */
export interface ReplayOptions {
  /** The id of a recorded call: it and the later ones run. Calls before it, and without this all, are answered from the record. */
  readonly from?: string
  readonly session?: ResumeOptions & Pick<SessionOptions, 'mode'>
}

/** What is different now: there is no such tool, it refuses the arguments, the policy, or what came of the call. */
export interface ReplayDifference extends ValueDifference {
  readonly call: string
  readonly tool: string
  readonly what: 'tool' | 'arguments' | 'decision' | 'outcome'
  /** Why the present answer is what it is. */
  readonly reason?: string
}

/** What came of a replay. It ends with the first difference. */
export interface ReplayReport {
  readonly session: string
  /** Calls that were answered from the record. */
  readonly answered: number
  /** Calls that ran. */
  readonly ran: number
  /** Calls that were left out, because a secret was removed from their arguments, or these were too long to keep. */
  readonly leftOut: readonly string[]
  /** Options of the recorded session that were code, and that the replay does not have. */
  readonly without: readonly string[]
  readonly difference?: ReplayDifference
}

const OPTIONS: OptionForms<ReplayOptions> = { from: forms.text, session: forms.object }

/** What a replay needs of a host: also its core, whose sessions connect to no server. */
export interface ReplayHost {
  readonly core: Pick<Host, 'openSession' | 'inside'>
  readonly openSession: (options: SessionOptions) => Promise<Session>
}

/**
 * Makes the calls of a recorded session again, one after another, until one is different. Rejects with NotFound for a call
 * that is not recorded, and with ConfigInvalid.
 */
export async function replaySession(
  host: ReplayHost, recording: Recording, options: ReplayOptions = {},
): Promise<ReplayReport> {
  requireOptions('replay', options, OPTIONS)
  const { from, session: given = {} } = options
  const calls = callsOf(recording)
  const live = from === undefined ? calls.length : calls.findIndex(({ id }) => id === from)
  if (live < 0) throw unknownCall(from!, recording, calls)
  const without = recording.code.filter((name) => !Object.hasOwn(given, name))
  requireReplayable(recording, given, from === undefined ? [] : without)
  const opening = { ...recording.options as unknown as SessionOptions, ...given }
  const session = from === undefined
    ? await host.core.openSession({ ...opening, record: false, ...(opening.headless === 'wait' && { headless: 'deny' }) })
    : await host.openSession(opening)
  const { replay, redact } = host.core.inside
  const made = calls.map((call, index) => new MadeAgain(call, index >= live))
  const end = replay(session.id, new Map(made.map((one) => [one.call.id, one])))
  let [answered, ran] = [0, 0]
  const leftOut: string[] = []
  try {
    for (const one of made) {
      if (!one.isRepeatable) leftOut.push(one.call.id)
      else {
        const { id, tool: name, arguments: { value } } = one.call
        const outcome = await session.call({ id, name, arguments: value })
        if (one.stub) answered++
        else ran++
        const difference = one.differenceTo(outcome, redact)
        if (difference) return { session: recording.id, answered, ran, leftOut, without, difference }
      }
    }
    return { session: recording.id, answered, ran, leftOut, without }
  } finally {
    end()
    await session.close()
  }
}

/** Those of the model. Of a call that continued after a pause, the end counts. */
const callsOf = ({ recorded }: Pick<Recording, 'recorded'>): readonly RecordedCall[] => [
  ...new Map(recorded.filter(({ parentCallId }) => parentCallId === undefined).map((call) => [call.id, call])).values(),
]

function requireReplayable(
  { id, parentId, principal }: Recording, given: ResumeOptions, missing: readonly string[],
): void {
  if (parentId !== undefined) {
    const message = `The session ${id} is that of a sub-agent, which lives under the policy of ${parentId}. Replay that one.`
    throw new BulkheadError('ConfigInvalid', message, { data: { id, parentId } })
  }
  if (given.principal?.id !== principal) {
    throw new BulkheadError('NotFound', `No session ${id} of this principal is recorded.`, { data: { id } })
  }
  if (missing.length === 0) return
  const message = `The session ${id} was opened with ${missing.join(' and ')}. Pass the same again before calls run, because `
    + 'code is not recorded.'
  throw new BulkheadError('ConfigInvalid', message, { data: { path: `/session/${missing[0]}` } })
}

function unknownCall(id: string, { id: session }: Recording, calls: readonly RecordedCall[]): BulkheadError {
  const meant = meantNames(id, calls.map((call) => call.id))
  return new BulkheadError(
    'NotFound', `The recorded session ${session} has no call "${visibleText(id)}" of the model.${meant}`, { data: { id } },
  )
}

/** How a refusal before a policy is shown. Others are decisions. */
const REFUSED: ReadonlyMap<ErrorCode, ReplayDifference['what']> =
  new Map([['ToolNotRegistered', 'tool'], ['ToolsDisabled', 'tool'], ['InputInvalid', 'arguments']])

/** One recorded call, and what is different when it is made again. */
class MadeAgain implements ReplayedCall {
  readonly call: RecordedCall
  readonly stub?: NonNullable<ReplayedCall['stub']>
  readonly #body: OutcomeBody | undefined
  #said: RuleAction | undefined
  #reason: string | undefined
  #satisfies = true

  constructor(call: RecordedCall, isLive: boolean) {
    this.call = call
    this.#body = bodyOf(call.outcome.value)
    if (isLive) return
    const { metadata: { attempt } } = call
    const body = this.#body
    this.stub = {
      refusal: attempt === 0 && body?.type === 'error' ? errorOf(body) : undefined,
      answer: (satisfies) => {
        if (body?.type === 'error') throw errorOf(body)
        this.#satisfies = body === undefined || satisfies === undefined || satisfies(body.data)
        return { body: body ?? { type: 'output', data: null }, metadata: {} }
      },
    }
  }

  get isRepeatable(): boolean {
    const { value } = this.call.arguments
    return value !== undefined && !JSON.stringify(value).includes(REDACTED)
  }

  decided(said: RuleAction, reason: string): void {
    this.#said = said
    this.#reason = reason
  }

  differenceTo(outcome: Outcome, redact: (value: Json) => Json): ReplayDifference | undefined {
    const { id, tool, decision } = this.call
    const named = { call: id, tool }
    const { metadata: _, ...now } = outcome
    if (decision !== this.#said) {
      const code = outcome.type === 'error' ? outcome.error.code : undefined
      const what = this.#said === undefined && code !== undefined ? REFUSED.get(code) ?? 'decision' : 'decision'
      const reason = this.#reason ?? (outcome.type === 'error' ? outcome.error_text : undefined)
      return {
        ...named, what, path: '', recorded: decision ?? codeOf(this.#body), now: this.#said ?? code, ...(reason !== undefined && { reason }),
      }
    }
    if (!this.#satisfies) {
      const reason = 'the recorded result is not as the tool declares its results now'
      return { ...named, what: 'outcome', path: '/data', recorded: bodyData(this.#body), now: undefined, reason }
    }
    if (this.#body === undefined) return undefined
    const ends = { recorded: codeOf(this.#body) ?? 'output', now: codeOf(now) ?? 'output' }
    const found = ends.recorded !== ends.now ? { path: '', ...ends }
      : firstDifference(resultOf(this.#body), redact(resultOf(now)))
    return found && {
      ...named, what: 'outcome', ...found, ...(outcome.type === 'error' && { reason: outcome.error_text }),
    }
  }
}

const REDACTED = '[redacted]'

const bodyOf = (value: Json | undefined): OutcomeBody | undefined =>
  isJsonObject(value as Json) ? value as unknown as OutcomeBody : undefined

const errorOf = ({ error_text: text, error: { code, data } }: Extract<OutcomeBody, { readonly type: 'error' }>): BulkheadError =>
  new BulkheadError(code, text, data === undefined ? {} : { data })

const codeOf = (body: OutcomeBody | undefined): string | undefined => body?.type === 'error' ? body.error.code : undefined
const bodyData = (body: OutcomeBody | undefined): Json | undefined => body?.type === 'output' ? body.data : undefined

/** Texts of errors are for people, and may be worded otherwise. */
const resultOf = (body: OutcomeBody): Json => body.type === 'error' ? null
  : { data: body.data, ...(body.content && { content: body.content as unknown as Json }) }
