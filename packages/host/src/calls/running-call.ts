import {
  BulkheadError, isRepeatable, type CallLog, type CallProgress, type CallSteps, type CommandWall, type CompartmentSession,
  type KeyUse, type MeasuredUse, type Power, type RunsOn, type ToolInvocation, type UseRules,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { callOver } from '../model/begun-effects.ts'
import { eventFields, sessionFields } from '../model/event-fields.ts'
import { isOwnTool, type ToolEntry } from '../extensions/registry/tool-entry.ts'
import { overdue } from '../extensions/lifecycle/start.ts'
import type { Running } from '../extensions/running-calls.ts'
import type { Cancelled } from '../model/cancel-scope.ts'
import type { Attempts } from '../model/call-run.ts'
import type { Deadline } from '../model/deadline.ts'
import type { AllowedCall, HostContext, ValidatedCall } from '../policy/call.ts'
import { answersIn, QuestionLog } from '../policy/interaction/question-log.ts'
import type { WaitingCall } from '../policy/call-session.ts'
import { placeByRule } from './call-place.ts'
import { callUses } from './call-uses.ts'
import { stepsOf } from './keyed-call.ts'
import { passUpdate, runObserver } from './hooks.ts'

/**
 * One attempt of a call while its tool runs. It ends once: by the answer, by its deadline, with the call, or by `end`.
 */
export class RunningCall implements ToolInvocation, Running, Cancelled {
  readonly call: ValidatedCall
  readonly allowed: AllowedCall
  readonly attempt: number
  /** The id its compartment knows it by. */
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  readonly grant: Power | undefined
  readonly runsOn: RunsOn | undefined
  readonly deadline: Deadline
  place: Running['place']
  readonly #attempts: Attempts
  readonly #host: HostContext
  readonly #answer = Promise.withResolvers<Json>()
  #isOver = false
  #reason: BulkheadError | undefined
  #cancelled: ((reason: BulkheadError) => void) | undefined
  #controller: AbortController | undefined
  #questions: QuestionLog | undefined
  #uses: { readonly rules: UseRules | undefined } | undefined
  /** What ends each call that the tool makes. */
  #nested: Set<() => void> | undefined

  constructor(allowed: AllowedCall, attempts: Attempts, host: HostContext) {
    const { call, decision } = allowed
    this.runsOn = placeByRule(call, decision.analysis)
    const { tool, args } = call
    this.call = call
    this.allowed = allowed
    this.attempt = attempts.count
    this.#attempts = attempts
    this.tool = tool.name
    this.args = args
    const { power } = call.session.policy.forTool(tool)
    this.grant = power === tool.grant ? undefined : power
    this.#host = host
    attempts.steps?.restart()
    this.deadline = attempts.run(host.clock, () => this.end(overdue(call)))
    this.callId = tool.extension.running.enter(this, { id: call.id, attempt: this.attempt })
    call.scope.cancel.watch(this)
  }

  /** Aborted when this attempt ends early. Created on first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get sessionId(): string {
    return this.call.session.id
  }

  get idempotencyKey(): string {
    return this.call.idempotencyKey
  }

  get steps(): CallSteps {
    this.#attempts.steps ??= stepsOf(this.call, this.#host)
    return this.#attempts.steps
  }

  get isApproved(): boolean {
    return this.allowed.isApproved
  }

  get wall(): CommandWall | undefined {
    return this.allowed.decision.analysis.wall
  }

  /** Looked up with the first use: ignore files may have changed. */
  get uses(): UseRules | undefined {
    this.#uses ??= { rules: callUses(this.allowed, this.#host, { signal: this.signal, pause: () => pauseFor(this) }) }
    return this.#uses.rules
  }

  get commandMs(): number | undefined {
    const { tool, args, timeoutMs } = this.call
    const time = tool.commandTime?.(args, timeoutMs)
    return time && Math.max(1, this.deadline.leftMs - time.reserveMs)
  }

  get leftMs(): number {
    return Math.max(1, this.deadline.leftMs)
  }

  get isRepeatable(): boolean {
    return isRepeatable(this.call.tool.definition.effects)
  }

  get verify(): string | undefined {
    return this.call.tool.definition.verify
  }

  get confinement(): string | undefined {
    return this.call.session.policy.confinement
  }

  get reverts(): ToolInvocation['reverts'] {
    return this.call.scope.reverts
  }

  get parent(): ToolInvocation | undefined {
    return this.call.parent?.running
  }

  /** Whether the tool may run from the start again, after a question that waited: it would repeat what it did. */
  get mayRunAgain(): boolean {
    const { effects, steps } = this.#attempts
    return isRepeatable(this.call.tool.definition.effects) || !effects.hasActed((step) => steps?.isKept(step) === true)
  }

  /** Belongs to the callers too: a repetition of theirs would repeat it. */
  beginEffect(what: string): Promise<void> | undefined {
    return this.#begin(what, false)
  }

  #begin(what: string, isStart: boolean): Promise<void> | undefined {
    if (this.#isOver) throw this.#reason ?? callOver()
    const { tool: { definition, extension: { descriptor } }, waiting } = this.call
    // An operation that reads may fetch a token first: the code is ours, and the method of the operation is fixed.
    if (definition.effects === 'none' && descriptor.server?.kind === 'openapi') return undefined
    if (definition.effects === 'none') throw withoutEffects(definition.name, what)
    const own = this.#attempts.effects.begin(this.attempt, visibleText(what), this.#attempts.steps?.open, isStart)
    const outer = waiting?.beginEffect(what)
    return own && outer ? Promise.all([own, outer]).then(() => undefined) : own ?? outer
  }

  onCancel(listener: (reason: BulkheadError) => void): void {
    if (this.#reason) listener(this.#reason)
    else this.#cancelled = listener
  }

  onProgress(text: string): void {
    this.#host.events.emit({ type: 'ToolInvocationProgress', ...eventFields(this.call), text })
    this.#report({ text })
  }

  onUpdate(partial: Json): void {
    passUpdate(this.allowed, this.#host, partial, () => this.#report({ partial }))
  }

  /** Also after the call has ended: the key was sent. */
  onKeyUse({ refused: reason, ...use }: KeyUse): void {
    const { id: callId, session, tool: { origin: { extension: extensionId } } } = this.call
    const fields = { extensionId, ...sessionFields(session), callId, ...use }
    this.#host.events.emit(
      reason === undefined ? { type: 'KeyUsed', ...fields } : { type: 'KeyRefused', ...fields, reason })
  }

  /** Absent if no one wants to know: measuring has a price. */
  get onUse(): ((use: MeasuredUse) => void) | undefined {
    const { audit, uses } = this.#host
    return audit() === undefined && !uses.isHeard ? undefined : (use) => this.#used(use)
  }

  #used(use: MeasuredUse): void {
    const { call: { id, session }, attempt } = this
    const endedAt = this.#host.clock.monotonic() - (use.agoMs ?? 0)
    if (attempt === this.#attempts.count && !this.#isOver) this.#attempts.phases.used(use, endedAt)
    this.#host.uses.tell({ ...use, sessionId: session.id, callId: id })
  }

  onLog({ level, text }: Pick<CallLog, 'level' | 'text'>): void {
    const { id: callId, name: tool, scope: { onLog } } = this.call
    if (onLog) runObserver('onLog', this.#host, () => onLog(Object.freeze({ callId, tool, level, text })))
  }

  /** Tells the caller. A tool may still report after its call has ended. */
  #report(progress: Pick<CallProgress, 'text' | 'partial'>): void {
    const { id: callId, name: tool, scope: { onProgress } } = this.call
    if (!onProgress || this.#isOver) return
    runObserver('onProgress', this.#host, () => onProgress(Object.freeze({ callId, tool, ...progress })))
  }

  /** The answers that the call got before it paused, if the tool is still the one that asked. */
  get questions(): QuestionLog {
    this.#questions ??= new QuestionLog(answersIn(this.call))
    return this.#questions
  }

  /** Calls `end` when this attempt is over: the result of a call that the tool made would reach no one. */
  nest(end: () => void): () => void {
    const nested = this.#nested ??= new Set()
    nested.add(end)
    if (this.#isOver) end()
    return () => void nested.delete(end)
  }

  /** Call it once. */
  run(compartment: CompartmentSession): Promise<Json> {
    try {
      const start = startOf(this.call.tool)
      const noted = start === undefined ? undefined : this.#begin(start, true)
      if (noted === undefined) this.#send(compartment)
      else noted.then(() => this.#isOver || this.#send(compartment)).catch((thrown: unknown) => this.#fail(thrown))
    } catch (thrown) {
      this.#fail(thrown)
    }
    return this.#answer.promise
  }

  #send(compartment: CompartmentSession): void {
    // oxlint-disable-next-line eslint/no-useless-call -- a compartment is not a function
    compartment.call(this).then(
      (value) => { if (this.#close()) this.#answer.resolve(value) },
      (thrown: unknown) => this.#fail(thrown),
    )
  }

  /** Ends it with a reason. Does nothing if it is over. */
  end(reason: BulkheadError): void {
    if (!this.#fail(reason)) return
    this.#reason = reason
    this.#cancelled?.(reason)
    this.#controller?.abort(reason)
  }

  #fail(reason: unknown): boolean {
    if (!this.#close()) return false
    this.#answer.reject(reason)
    return true
  }

  #close(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#attempts.stop(this.deadline)
    this.call.tool.extension.running.leave(this)
    if (this.#nested) for (const end of this.#nested) end()
    return true
  }
}

/** What the start of a tool begins, in words. undefined: the broker sees what it begins, or it begins nothing. */
export function startOf({ name, definition: { effects }, extension: { descriptor } }: ToolEntry): string | undefined {
  const { code, server } = descriptor
  if (effects === 'none' || code.kind === 'files') return undefined
  if (server) return `calls the server "${server.name}"`
  return isOwnTool(name, descriptor) ? undefined : 'runs code in the process of the host'
}

const withoutEffects = (tool: string, what: string): BulkheadError => new BulkheadError(
  'CapabilityDenied', `The tool "${tool}" has effects none, so it may not do this: ${what}. Declare its effects.`,
  { data: { effects: 'none' } },
)

/** What a call that waits for this one passes on to it. */
export const asWaiting = (running: RunningCall): WaitingCall =>
  ({ pause: () => pauseFor(running), beginEffect: (what) => running.beginEffect(what) })

/** Stops the time of a call, and of the calls that wait for it. Returns the function that continues it. */
export function pauseFor({ call, deadline }: RunningCall): () => void {
  const resumes = [deadline.pause(), call.waiting?.pause()]
  return () => {
    for (const resume of resumes) resume?.()
  }
}
