import type { Clock, OutcomeBody } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import type { CallView } from '../model/hooks.ts'
import { inTime } from '../model/deadline.ts'
import { isPromiseLike } from '@bulkhead/kit/deadlines'
import { viewOf, type CheckedCall } from './model/checked-call.ts'
import { digestOf } from './model/stage-permit.ts'
import { ask, deny, type Verdict } from './model/verdict.ts'

/**
 * A watchdog or guard of the embedder. Returning nothing is no objection. A throw denies, and so does no answer in
 * time.
 */
export type CallCheck = (call: CallView, signal: AbortSignal) => MaybeAnswer | Promise<MaybeAnswer>
type MaybeAnswer = CallCheckAnswer | undefined | void
export type CallCheckAnswer =
  | { readonly action: 'allow' }
  | { readonly action: 'deny' | 'ask'; readonly reason: string }
  /** Other arguments instead. They are validated, and every policy evaluates them as if the model had sent them. */
  | { readonly action: 'change'; readonly arguments: unknown; readonly reason: string }

/** Checks the result of a tool. Returning nothing is no objection. A throw denies, and so does no answer in time. */
export type ResultCheck =
  (call: CallView, result: OutcomeBody, signal: AbortSignal) => MaybeResultAnswer | Promise<MaybeResultAnswer>
type MaybeResultAnswer = ResultAnswer | undefined | void
export type ResultAnswer =
  | { readonly action: 'allow' }
  /** The tool has run; its result is withheld. */
  | { readonly action: 'deny'; readonly reason: string }
  /** Other data instead, or another message for an error. Nothing else of the result is kept. */
  | { readonly action: 'change'; readonly data: Json; readonly reason: string }

/** @deprecated Use `CallCheck`. */
export type Judge = CallCheck
/** @deprecated Use `CallCheckAnswer`. */
export type JudgeAnswer = CallCheckAnswer
/** @deprecated Use `ResultCheck`. */
export type ResultJudge = ResultCheck

/** Checks gated calls before they run, their results, or both. */
export interface Guard {
  /** The configuration orders guards by it, and decisions name it. */
  readonly id: string
  readonly pre?: CallCheck
  readonly post?: ResultCheck
}

/** In the order of the configuration; guards that it does not name follow in the order of their registration. */
export function inOrder(guards: readonly Guard[], ids: readonly string[] = []): readonly Guard[] {
  const rank = ({ id }: Guard) => ids.includes(id) ? ids.indexOf(id) : ids.length
  return guards.toSorted((a, b) => rank(a) - rank(b))
}

/** A function is a guard before the call, under its own name. */
export const asGuard = (guard: CallCheck | Guard): Guard =>
  typeof guard === 'function' ? { id: nameOf(guard), pre: guard } : guard

const NAMELESS = 'without a name'
export const nameOf = (guard: { readonly name: string }): string => guard.name || NAMELESS

/** It asks because of these arguments: an approval answers it for the same call. */
const forCall = (source: string, args: JsonObject): string => `${source} for the arguments ${digestOf(args)}`

/** A watchdog or guard wants the call to run with other arguments. */
export interface ArgumentsChange {
  readonly stage: GuardStage
  readonly source: string
  readonly reason: string
  readonly args: Json
}

type GuardStage = 'watchdog' | 'guard'
export const GUARD_CODES =
  { watchdog: 'WatchdogDenied', guard: 'GuardDenied' } as const satisfies Record<GuardStage, string>

/** The answer of a watchdog or guard about a call. */
export type Opinion = Verdict | ArgumentsChange

/** Fails closed: a throw, an unknown answer and no answer in time deny. Rejects only if the call is cancelled. */
export async function consult(
  guard: CallCheck, by: By, call: CheckedCall, approvalKey: string, clock: Clock,
): Promise<Opinion | undefined> {
  try {
    const pending = guard(viewOf(call, approvalKey), call.signal)
    return readAnswer(isPromiseLike(pending) ? await inTime(pending, call, clock) : pending, by, call)
  } catch (thrown) {
    call.throwIfCancelled()
    return denied(by, `the ${by.source} failed: ${messageOf(thrown)}`)
  }
}

type By = Pick<ArgumentsChange, 'stage' | 'source'>

function readAnswer(answer: MaybeAnswer, by: By, call: CheckedCall): Opinion | undefined {
  if (answer === undefined) return undefined
  switch (answer?.action) {
    case 'allow': return undefined
    case 'ask': {
      const questions = by.source.endsWith(NAMELESS) ? undefined : [forCall(by.source, call.args)]
      return ask(by.stage, by.source, reasonOf(answer, by.source), questions)
    }
    case 'deny': return denied(by, reasonOf(answer, by.source))
    case 'change': return readChange(answer.arguments, { ...by, reason: reasonOf(answer, by.source) }, call)
    default: return denied(by, `the ${by.source} returned an unknown answer`)
  }
}

/** Wanting the arguments that are there already is no objection. */
function readChange(wanted: unknown, by: Omit<ArgumentsChange, 'args'>, { args }: CheckedCall): Opinion | undefined {
  const copy = copyJson(wanted)
  if (!copy.ok) return denied(by, `the ${by.source} returned arguments that are not JSON: ${copy.fault.message}`)
  return canonicalJson(copy.value) === canonicalJson(args) ? undefined : { ...by, args: copy.value }
}

const denied = ({ stage, source }: By, reason: string): Verdict => deny(stage, GUARD_CODES[stage], source, reason)

export const reasonOf = ({ reason }: { readonly reason: unknown }, source: string): string =>
  reason === undefined || reason === '' ? `the ${source} gave no reason` : String(reason)
