import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../model/errors.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Outcome, OutcomeBody, OutcomeError, OutcomeMetadata } from '../model/outcome.ts'

/** What a codec reads: the outcome, and what of its metadata the dialect carries. */
export interface Reading {
  readonly body: OutcomeBody
  readonly metadata: CarriedMetadata
}

/**
 * As claimed by whoever wrote the result. For a record of one's own it is the truth; of a stranger's result a host
 * believes `child_loop_id` and `tokens_used` at most, and measures, counts and truncates by itself.
 */
export type CarriedMetadata = Partial<Omit<OutcomeMetadata, 'origin'>>

/** An outcome again, where the dialect carried less than all of it. What was read goes over `base`. */
export const completeOutcome = ({ body, metadata }: Reading, base: OutcomeMetadata): Outcome =>
  ({ ...body, metadata: { ...base, ...metadata } })

/** Class and retryable follow from the code alone, whatever a foreign result says. */
export const errorOf = (code: ErrorCode, data?: Json): OutcomeError =>
  ({ code, class: ERRORS[code].class, retryable: ERRORS[code].retryable, ...present({ data }) })

/** Cancelled, and the run with it. A call that gave way to a message of the user ends nothing: the run goes on with that. */
export const endsRun = (code: ErrorCode): boolean => ERRORS[code].class === 'Cancellation' && code !== 'SkippedBySteering'

/** Codecs read what is JSON already, so its inside is not walked again; only its being there is checked. */
export const json = z.custom<Json>((value) => value !== undefined)

/** The fields that have a value, so that an absent one is absent in what is made too. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>
}

type Present<Fields> =
  & { [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key] }
  & { [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined> }
