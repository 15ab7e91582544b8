import type {
  CompartmentEnd, CompartmentRequest, CompartmentSession, LifecyclePhase, Placement, StoredState, ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { closedEarly } from './closed-early.ts'
import { compartmentGone, isCompartmentGone } from './compartment-gone.ts'
import type { RestingSession } from './resting-session.ts'
import { abortable } from './abortable.ts'
import { PhasesRun } from './phases-run.ts'
import type { OpenSession } from './evictable-session.ts'

/** One of the compartments, or the next one in its stead. */
interface Member {
  /** Set while it can be called. */
  session: RestingSession | undefined
  starting: Promise<RestingSession> | undefined
}

/**
 * One extension that keeps nothing between calls, in several compartments. One that dies takes its own calls with it and is
 * replaced by the next call that finds a place for it. When as many have died in a row as there are, without a single call
 * answered, all of it ends: whoever owns the session decides about another try.
 */
export class SpreadSession implements RestingSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #open: OpenSession
  readonly #members: readonly Member[]
  readonly #phases = new PhasesRun()
  readonly #end = Promise.withResolvers<CompartmentEnd>()
  readonly #over = new AbortController()
  /** Answers every request after its end. */
  #refusal: BulkheadError | undefined
  /** Of members that have ended, until nothing of them is left. */
  readonly #leaving = new Set<Promise<void>>()
  #deathsInARow = 0

  /** All of them, or none: rejects with the first failure, and leaves nothing behind. */
  static async open(request: CompartmentRequest, open: OpenSession): Promise<RestingSession> {
    const { concurrency = 1, placement, extension } = request
    if (!Number.isSafeInteger(concurrency) || concurrency < 1 || placement === 'inline') {
      const why = `${extension.id} cannot run in ${concurrency} compartments of the placement ${placement}.`
      throw new BulkheadError('CompartmentStartFailed', why)
    }
    const failed = new AbortController()
    const signal = request.signal === undefined ? failed.signal : AbortSignal.any([failed.signal, request.signal])
    const attempts = await Promise.allSettled(Array.from({ length: concurrency }, () =>
      open({ ...request, signal }).catch((error: unknown) => {
        failed.abort(error)
        throw error
      })))
    const sessions = attempts.flatMap((attempt) => attempt.status === 'fulfilled' ? [attempt.value] : [])
    if (sessions.length === concurrency) return new SpreadSession(request, open, sessions)
    await Promise.all(sessions.map((session) => session.close()))
    throw failed.signal.reason
  }

  private constructor(request: CompartmentRequest, open: OpenSession, sessions: readonly RestingSession[]) {
    const [first] = sessions
    this.id = first!.id
    this.placement = first!.placement
    this.offers = first!.offers
    this.ended = this.#end.promise
    this.#request = request
    this.#open = open
    this.#members = sessions.map(() => ({ session: undefined, starting: undefined }))
    for (const [index, session] of sessions.entries()) this.#adopt(this.#members[index]!, session)
  }

  get inFlight(): number {
    return this.#members.reduce((sum, { session }) => sum + (session?.inFlight ?? 0), 0)
  }

  /** Not quiet while one of them waits for a place: the others would have to go for it. */
  get quietSince(): number {
    if (this.#members.some(({ starting }) => starting)) return performance.now()
    return Math.max(...this.#members.map(({ session }) => session?.quietSince ?? -Infinity))
  }

  /** Only while there is none without a cancelled call: until then the others are called. */
  get quiet(): Promise<void> | undefined {
    const quiets = this.#members.map(({ session }) => session?.quiet)
    return quiets.includes(undefined) ? undefined : Promise.race(quiets)
  }

  /** In each of them, also in those that are being replaced. */
  async lifecycle(phase: LifecyclePhase): Promise<void> {
    this.#over.signal.throwIfAborted()
    const outcomes = await Promise.allSettled(this.#members.map(async (member) =>
      (member.session ?? await this.#replaced(member)).lifecycle(phase)))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    this.#phases.ran(phase)
  }

  async call(invocation: ToolInvocation): Promise<Json> {
    const value = await this.#use(invocation, (session) => session.call(invocation))
    this.#deathsInARow = 0
    return value
  }

  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    return this.#use({ signal }, (session) => session.deriveApprovalKey(tool, args, signal))
  }

  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#use({ signal }, (session) => session.migrateState(stored, signal))
  }

  async close(reason?: BulkheadError): Promise<void> {
    const why = reason ?? closedEarly()
    await this.#finish({ kind: 'closed' }, why)
    await Promise.all(this.#leaving)
  }

  /** Chosen and asked at once: who comes next sees it busy. */
  async #use<T>(asker: Pick<ToolInvocation, 'signal'>, ask: (session: RestingSession) => Promise<T>): Promise<T> {
    if (this.#refusal) throw this.#refusal
    const [freest] = this.#members.flatMap(({ session }) => session ?? []).toSorted(byLoad)
    // Before another asks for a place: who makes room for it must see this one at work.
    const answer = freest && ask(freest)
    const starting = this.#members.filter(({ session }) => session === undefined).map((member) => this.#replaced(member))
    for (const start of starting) start.catch(() => undefined)
    const asked = freest ?? await abortable(() => Promise.race(starting), asker.signal)
    try {
      return await (answer ?? ask(asked))
    } catch (error) {
      if (!isCompartmentGone(error)) throw error
      // It is not among the members any more when its end is known.
      await asked.ended
      return this.#use(asker, ask)
    }
  }

  #replaced(member: Member): Promise<RestingSession> {
    member.starting ??= this.#start(member).finally(() => {
      member.starting = undefined
    })
    return member.starting
  }

  async #start(member: Member): Promise<RestingSession> {
    let session: RestingSession | undefined
    try {
      session = await this.#open({ ...this.#request, signal: this.#over.signal })
      await this.#phases.replay(session)
      this.#over.signal.throwIfAborted()
    } catch (thrown) {
      const error = BulkheadError.from(thrown, 'CompartmentStartFailed')
      // Those that are there go on with fewer; the next call asks for a place again.
      if (session === undefined && error.code === 'NoPlaceFree' && this.#members.some((one) => one.session)) throw error
      void this.#finish({ kind: 'failed', error }, error)
      await session?.close(error)
      throw this.#over.signal.reason
    }
    this.#adopt(member, session)
    return session
  }

  #adopt(member: Member, session: RestingSession): void {
    member.session = session
    void session.ended.then((end) => {
      if (member.session !== session) return
      member.session = undefined
      void this.#leave(session)
      if (end.kind === 'failed' && ++this.#deathsInARow >= this.#members.length) void this.#finish(end, end.error)
    })
  }

  async #finish(end: CompartmentEnd, reason: BulkheadError): Promise<void> {
    const first = !this.#over.signal.aborted
    if (first) this.#refusal = end.kind === 'failed' ? compartmentGone(this.#request.extension.id, reason) : reason
    this.#over.abort(reason)
    await Promise.all(this.#members.map(async (member) => {
      const { session, starting } = member
      member.session = undefined
      await Promise.all([session && this.#leave(session, reason), starting?.catch(() => undefined)])
    }))
    if (first) this.#end.resolve(end)
  }

  #leave(session: CompartmentSession, reason?: BulkheadError): Promise<void> {
    const leaving = session.close(reason).finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
    return leaving
  }
}

/** A cancelled call that goes on may take its compartment down, and others in it too. */
const byLoad = (a: CompartmentSession, b: CompartmentSession): number =>
  Number(a.quiet !== undefined) - Number(b.quiet !== undefined) || a.inFlight - b.inFlight
