import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import {
  BulkheadError, portablePower, WORKER_LIMITS, type BegunEffect, type CompartmentRequest, type PlacedCall, type PlacedEnd,
  type Power, type RemoteCode, type RunsOn, type ToolInvocation, type WorkerDemand,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { answerEntry, failureEntry, readWorkerEntry, type WorkerEntry } from '../messages/protocol.ts'
import { readResult } from '../messages/result.ts'
import { Inbox, Outbox } from '../messages/signed-messages.ts'
import { writeBody } from '../ticket/body.ts'
import { digestOf, signTicket } from '../ticket/ticket.ts'
import type { FleetCaller } from './fleet-caller.ts'
import { noWorkerReady } from './no-worker.ts'
import { CallServices } from './services.ts'

/** What a call runs, and where. */
export interface RemotePlace {
  readonly caller: FleetCaller
  readonly request: CompartmentRequest
  readonly remote: RemoteCode
  readonly runsOn: RunsOn
}

/** How often a call is given to another worker after one was lost. A call that loses three may be the reason. */
const MOST_LOSSES = WORKER_LIMITS.losses
/** The store that did not answer is asked again after this time. */
const AGAIN_MS = 200
/** For a call without a deadline. */
const LONGEST_MS = WORKER_LIMITS.callMs

/** What one attempt exchanges with its worker. */
interface Attempt {
  readonly epoch: number
  readonly ticket: string
  readonly inbox: Inbox
  outbox: Outbox | undefined
  /** Aborted with the attempt, or with the call. */
  readonly over: AbortController
  /** The worker may begin an effect. */
  mayAct: boolean
}

/** One call on a worker. Settles once: by its result, by its cancellation, or by the loss of its worker. */
export class RemoteCall {
  readonly #place: RemotePlace
  readonly #invocation: ToolInvocation
  readonly #id = randomUUID()
  readonly #demand: WorkerDemand
  readonly #grant: Power
  readonly #body: Buffer
  readonly #services: CallServices
  readonly #over = new AbortController()
  readonly #answer = Promise.withResolvers<Json>()
  #attempt: Attempt | undefined
  #placed: PlacedCall | undefined
  #losses = 0

  constructor(place: RemotePlace, invocation: ToolInvocation, grant: Power, needsWorkspace: boolean) {
    const { caller, request, runsOn } = place
    this.#place = place
    this.#invocation = invocation
    this.#grant = grant
    this.#demand = {
      labels: runsOn.labels, major: caller.major, ...(needsWorkspace && { workspace: runsOn.workspace! }),
    }
    this.#body = writeBody({
      args: invocation.args, config: request.config, limits: request.limits, confinement: invocation.confinement ?? null,
      isApproved: invocation.isApproved === true, wall: invocation.wall ?? null, commandMs: invocation.commandMs ?? null,
      reverts: invocation.reverts ?? null,
    })
    this.#services = new CallServices({ request, invocation, grant, signal: this.#over.signal })
  }

  /** Call it once. */
  run(): Promise<Json> {
    const { invocation } = { invocation: this.#invocation }
    if (invocation.onCancel) invocation.onCancel((reason) => this.#cancel(reason))
    else if (invocation.signal.aborted) this.#cancel(BulkheadError.from(invocation.signal.reason, 'ToolCancelled'))
    else {
      const abort = () => this.#cancel(BulkheadError.from(invocation.signal.reason, 'ToolCancelled'))
      invocation.signal.addEventListener('abort', abort, { once: true, signal: this.#over.signal })
    }
    this.#begin().catch((thrown: unknown) => this.#end(() => this.#answer.reject(BulkheadError.from(thrown, 'StoreUnavailable'))))
    return this.#answer.promise
  }

  /** Ends it. Its worker begins nothing more for it: the caller answers no request, and the store closes the epoch. */
  end(reason: BulkheadError): void {
    this.#cancel(reason)
  }

  async #begin(): Promise<void> {
    const { caller, remote } = this.#place
    await caller.send(remote)
    if (this.#over.signal.aborted) return
    const attempt = this.#newAttempt(1)
    const { sessionId = '', callId } = this.#invocation
    const placed = await caller.options.placements.place({
      id: this.#id, demand: this.#demand, sessionId, callId, deadlineMs: this.#deadlineMs, ticket: attempt.ticket,
      body: this.#body,
    }, {
      onTaken: () => undefined,
      onMessage: (message) => this.#guarded(() => this.#receive(message)),
      // The worker asked before it began.
      onBegun: () => undefined,
      onEnd: (end) => this.#guarded(() => this.#ended(end)),
    })
    this.#placed = placed
    this.#ready.resolve(placed)
    if (this.#over.signal.aborted) this.#leave(placed)
  }

  readonly #ready = Promise.withResolvers<PlacedCall>()

  get #deadlineMs(): number {
    return Math.ceil(this.#invocation.leftMs ?? LONGEST_MS)
  }

  #newAttempt(epoch: number): Attempt {
    const { caller, remote: { digests } } = this.#place
    const { key, placements: { tenant }, variables } = caller.options
    const { callId, tool, sessionId = '', idempotencyKey = null } = this.#invocation
    const ticket = signTicket({
      version: 1, caller: key.publicKey, id: this.#id, epoch, session: sessionId, call: callId, tenant,
      labels: this.#demand.labels, workspace: this.#demand.workspace ?? null, major: caller.major, tool,
      package: digests.package, definition: digests.tools.get(tool) ?? '', body: digestOf(this.#body),
      grant: portablePower(this.#grant, variables), issued: Date.now(), deadlineMs: this.#deadlineMs, idempotencyKey,
    }, key)
    const inbox = new Inbox({ id: this.#id, epoch, ticket }, 'to caller', (by) => caller.isTrustedWorker(by))
    this.#attempt?.over.abort()
    this.#attempt = { epoch, ticket, inbox, outbox: undefined, over: new AbortController(), mayAct: false }
    return this.#attempt
  }

  #receive(message: Json): void {
    if (this.#over.signal.aborted) return
    const attempt = this.#attempt!
    for (const entry of attempt.inbox.read(message)) this.#take(readWorkerEntry(entry), attempt)
  }

  #take(entry: WorkerEntry, attempt: Attempt): void {
    if (entry.kind === 'note') return this.#services.note(entry.method, entry.args)
    // Even if it is not answered: the note may be there.
    if (entry.method === 'begin') attempt.mayAct = true
    this.#services.answer(entry).then(
      (value) => this.#reply(answerEntry(entry.id, value), entry.id, attempt),
      (thrown: unknown) => {
        if (BulkheadError.is(thrown) && thrown.code === 'BoundaryViolation') this.#cancel(thrown)
        else this.#reply(failureEntry(entry.id, thrown), entry.id, attempt)
      },
    )
  }

  #reply(entry: Json, id: number, attempt: Attempt): void {
    if (this.#over.signal.aborted || attempt !== this.#attempt) return
    const channel = { id: this.#id, epoch: attempt.epoch, ticket: attempt.ticket }
    attempt.outbox ??= new Outbox({
      channel, direction: 'to worker', key: this.#place.caller.options.key, signal: attempt.over.signal,
      send: async (message) => (await this.#ready.promise).send(message),
    })
    try {
      attempt.outbox.add(entry)
    } catch (thrown) {
      attempt.outbox.add(failureEntry(id, thrown))
    }
  }

  #ended(end: PlacedEnd): void {
    if (this.#over.signal.aborted) return
    const { tool } = this.#invocation
    switch (end.is) {
      case 'settled': {
        const { epoch, ticket, inbox } = this.#attempt!
        const result = readResult(end.result, { id: this.#id, epoch, ticket }, inbox)
        for (const use of result.uses ?? []) this.#invocation.onUse?.({ ...use, tool })
        return this.#end(() => 'value' in result ? this.#answer.resolve(result.value) : this.#answer.reject(result.error))
      }
      case 'untaken':
        return this.#end(() => this.#answer.reject(noWorkerReady(tool, this.#demand, end.workers)))
      case 'lost':
        this.#lost(end).catch((thrown: unknown) => this.#cancel(BulkheadError.from(thrown, 'StoreUnavailable')))
    }
  }

  async #lost({ worker, begun }: Extract<PlacedEnd, { is: 'lost' }>): Promise<void> {
    const { tool, verify, isRepeatable = false } = this.#invocation
    if (begun !== undefined && !isRepeatable) {
      throw this.#attempt!.mayAct ? outcomeUnknown(tool, worker, begun, verify) : lostBefore(tool, worker)
    }
    if (++this.#losses >= MOST_LOSSES) throw lostTooOften(tool, worker)
    if (await this.#placeAgain(isRepeatable) || this.#over.signal.aborted) return
    const message = `The worker ${worker} was lost, and the call of "${tool}" was closed before another one could take it.`
    throw new BulkheadError('CompartmentCrashed', message)
  }

  /** Until the store answers, or the call is over: what it has begun must not end as an error of the store. */
  async #placeAgain(repeats: boolean): Promise<boolean> {
    const placed = await this.#ready.promise
    const next = this.#newAttempt(placed.epoch + 1)
    for (;;) {
      try {
        return await placed.again(next.ticket, { repeats })
      } catch (thrown) {
        if (this.#over.signal.aborted || !BulkheadError.is(thrown) || thrown.code !== 'StoreUnavailable') throw thrown
        await pause(AGAIN_MS, undefined, { ref: false })
      }
    }
  }

  #cancel(reason: BulkheadError): void {
    this.#end(() => this.#answer.reject(reason), reason)
  }

  #end(settle: () => void, reason?: BulkheadError): void {
    if (this.#over.signal.aborted) return
    this.#over.abort(reason ?? new BulkheadError('ToolCancelled', 'The call is over.'))
    this.#attempt?.over.abort()
    settle()
    if (this.#placed) this.#leave(this.#placed)
  }

  /** A store that cannot be reached forgets it later. */
  #leave(placed: PlacedCall): void {
    placed.forget().catch(() => undefined)
  }

  /** A listener of the store must not throw. */
  #guarded(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#cancel(BulkheadError.from(thrown, 'BoundaryViolation'))
    }
  }
}

function outcomeUnknown(tool: string, worker: string, begun: BegunEffect, verify: string | undefined): BulkheadError {
  const at = new Date(begun.at).toISOString()
  const cure = verify === undefined ? 'Find out whether it happened before you call again.'
    : `Call "${verify}" to find out whether it happened, before you call again.`
  const message = `The worker ${worker} was lost while it ran "${tool}". It had begun: "${begun.what}" at ${at}. Whether `
    + `it happened is unknown. ${cure}`
  const began = [{ what: begun.what, at, attempt: begun.attempt, ...(begun.step !== undefined && { step: begun.step }) }]
  return new BulkheadError('OutcomeUnknown', message, { data: { began, ...(verify !== undefined && { verify }) } })
}

/** Its worker has noted an effect, and had not yet heard from this caller that it may begin. */
const lostBefore = (tool: string, worker: string): BulkheadError => new BulkheadError(
  'CompartmentCrashed', `The worker ${worker} was lost before "${tool}" began anything. Call it again.`,
)

const lostTooOften = (tool: string, worker: string): BulkheadError => new BulkheadError(
  'CompartmentCrashed', `${MOST_LOSSES} workers were lost while they ran "${tool}", the last one ${worker}.`,
)
