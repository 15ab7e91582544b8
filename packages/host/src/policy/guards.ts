import type { OutcomeBody } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { CallView } from '../model/call.ts'

/** An embedder's own judgement of a call. Nothing returned is no objection; a throw is a deny, and so is no answer in time. */
export type Judge = (call: CallView, signal: AbortSignal) => MaybeAnswer | Promise<MaybeAnswer>
type MaybeAnswer = JudgeAnswer | undefined | void
export type JudgeAnswer =
  | { readonly action: 'allow' }
  | { readonly action: 'deny' | 'ask'; readonly reason: string }
  /** Other arguments instead. They are validated, and everybody judges them as if the model had sent them. */
  | { readonly action: 'change'; readonly arguments: unknown; readonly reason: string }

/** Judges what a tool has answered. Nothing returned is no objection; a throw is a deny, and so is no answer in time. */
export type ResultJudge =
  (call: CallView, result: OutcomeBody, signal: AbortSignal) => MaybeResultAnswer | Promise<MaybeResultAnswer>
type MaybeResultAnswer = ResultAnswer | undefined | void
export type ResultAnswer =
  | { readonly action: 'allow' }
  /** The tool has run; what it answered is withheld. */
  | { readonly action: 'deny'; readonly reason: string }
  /** Other data instead, or for an error another text. Nothing else of the result is left. */
  | { readonly action: 'change'; readonly data: Json; readonly reason: string }

/** Stands before gated calls, after them, or both. */
export interface Guard {
  /** By which the configuration orders it, and decisions name it. */
  readonly id: string
  readonly pre?: Judge
  readonly post?: ResultJudge
}

/** By the order of the configuration, the others after them as they were registered. */
export function inOrder(guards: readonly Guard[], ids: readonly string[] = []): readonly Guard[] {
  const rank = ({ id }: Guard) => ids.includes(id) ? ids.indexOf(id) : ids.length
  return guards.toSorted((a, b) => rank(a) - rank(b))
}

/** A function alone is a guard before the call, under its own name. */
export const asGuard = (guard: Judge | Guard): Guard =>
  typeof guard === 'function' ? { id: nameOf(guard), pre: guard } : guard

export const nameOf = (judge: { readonly name: string }): string => judge.name || 'without a name'
