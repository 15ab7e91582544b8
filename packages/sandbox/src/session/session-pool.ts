import {
  BulkheadError, type CompartmentEnd, type CompartmentRequest, type CompartmentSession, type CompartmentUse,
  type LifecyclePhase, type Placement, type StoredState, type ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { closedEarly, compartmentGone, isCompartmentGone } from './errors.ts'
import { abortable, PhaseReplay, type SessionOpener, type Residency } from './residency.ts'

/** One of the compartments, or its replacement. */
interface Member {
  /** Set while it is open. */
  session: CompartmentSession | undefined
  starting: Promise<CompartmentSession> | undefined
}

/**
 * An extension without state between calls, in several compartments. A compartment that dies fails its own calls; the
 * next call replaces it. When as many die in a row as there are, without a call that succeeds, the session ends and its
 * owner decides whether to try again.
 */
export class SessionPool implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #open: SessionOpener
  readonly #residency: Residency
  readonly #members: readonly Member[]
  readonly #phases = new PhaseReplay()
  readonly #end = Promise.withResolvers<CompartmentEnd>()
  readonly #over = new AbortController()
  /** Answers every request after the end. */
  #refusal: BulkheadError | undefined
  /** Members that have ended and are not gone yet. */
  readonly #leaving = new Set<Promise<void>>()
  #deathsInARow = 0

  /** Opens all or none: rejects with the first failure, and leaves nothing behind. */
  static async open(
    request: CompartmentRequest, open: SessionOpener, residency: Residency,
  ): Promise<CompartmentSession> {
    const { concurrency = 1, placement, extension } = request
    if (!Number.isSafeInteger(concurrency) || concurrency < 1 || placement === 'inline') {
      const why = `${extension.id} cannot run in ${concurrency} compartments of the placement ${placement}.`
      throw new BulkheadError('CompartmentStartFailed', why)
    }
    const failed = new AbortController()
    const signal = request.signal === undefined ? failed.signal : AbortSignal.any([failed.signal, request.signal])
    const attempts = await Promise.allSettled(Array.from({ length: concurrency }, () =>
      open({ ...request, signal }, residency).catch((error: unknown) => {
        failed.abort(error)
        throw error
      })))
    const sessions = attempts.flatMap((attempt) => attempt.status === 'fulfilled' ? [attempt.value] : [])
    if (sessions.length === concurrency) return new SessionPool(request, open, residency, sessions)
    await Promise.all(sessions.map((session) => session.close()))
    throw failed.signal.reason
  }

  private constructor(
    request: CompartmentRequest, open: SessionOpener, residency: Residency, sessions: readonly CompartmentSession[],
  ) {
    const [first] = sessions
    this.id = first!.id
    this.placement = first!.placement
    this.offers = first!.offers
    this.ended = this.#end.promise
    this.#request = request
    this.#open = open
    this.#residency = residency
    this.#members = sessions.map(() => ({ session: undefined, starting: undefined }))
    for (const [index, session] of sessions.entries()) this.#adopt(this.#members[index]!, session)
  }

  get inFlight(): number {
    return this.#members.reduce((sum, { session }) => sum + (session?.inFlight ?? 0), 0)
  }

  async use(): Promise<readonly CompartmentUse[]> {
    const uses = await Promise.all(this.#members.map(({ session }) => session?.use?.() ?? []))
    return uses.flat()
  }

  /** Set while every member has a cancelled call: until then the others are called. */
  get quiet(): Promise<void> | undefined {
    const quiets = this.#members.map(({ session }) => session?.quiet)
    return quiets.includes(undefined) ? undefined : Promise.race(quiets)
  }

  /** Runs in every member, and in those that are being replaced. */
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

  /** Chooses a member and sends at once, so the next caller sees it busy. */
  async #use<T>(source: Pick<ToolInvocation, 'signal'>, send: (session: CompartmentSession) => Promise<T>): Promise<T> {
    if (this.#refusal) throw this.#refusal
    const [freest] = this.#members.flatMap(({ session }) => session ?? []).toSorted(byLoad)
    // Before a replacement asks for a place: making room for it must find this member busy.
    const answer = freest && send(freest)
    const missing = this.#members.filter(({ session }) => session === undefined)
    const starting = missing.map((member) => this.#replaced(member))
    for (const start of starting) start.catch(() => undefined)
    const chosen = freest ?? await abortable(() => Promise.race(starting), source.signal)
    try {
      return await (answer ?? send(chosen))
    } catch (error) {
      if (!isCompartmentGone(error)) throw error
      // Once its end is known it is no longer a member.
      await chosen.ended
      return this.#use(source, send)
    }
  }

  /** In use while it waits for a place: otherwise the other members would be evicted to make room for it. */
  #replaced(member: Member): Promise<CompartmentSession> {
    if (member.starting === undefined) this.#residency.begin()
    member.starting ??= this.#start(member).finally(() => {
      member.starting = undefined
      this.#residency.end()
    })
    return member.starting
  }

  async #start(member: Member): Promise<CompartmentSession> {
    let session: CompartmentSession | undefined
    try {
      session = await this.#open({ ...this.#request, signal: this.#over.signal }, this.#residency)
      await this.#phases.replay(session)
      this.#over.signal.throwIfAborted()
    } catch (thrown) {
      const error = BulkheadError.from(thrown, 'CompartmentStartFailed')
      // The others go on; the next call tries again.
      if (session === undefined && error.code === 'NoPlaceFree' && this.#members.some((one) => one.session)) throw error
      void this.#finish({ kind: 'failed', error }, error)
      await session?.close(error)
      throw this.#over.signal.reason
    }
    this.#adopt(member, session)
    return session
  }

  #adopt(member: Member, session: CompartmentSession): void {
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

/** A cancelled call that goes on may end its compartment, and with it the other calls there. */
const byLoad = (a: CompartmentSession, b: CompartmentSession): number =>
  Number(a.quiet !== undefined) - Number(b.quiet !== undefined) || a.inFlight - b.inFlight
