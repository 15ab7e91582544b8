import type { BulkheadError, RuleAction } from '@bulkhead/contract'
import type { Reading } from '@bulkhead/contract/dialects'
import type { Json } from '@bulkhead/kit/json'

/** Stands in for the tool of a call: nothing of it starts, and no person is asked. */
export interface Stub {
  /** The error of a call that ended before its tool ran. */
  readonly refusal: BulkheadError | undefined
  /** What the tool answers. Throws the error of one that failed. `satisfies`: whether data is as the tool declares it. */
  answer(satisfies: ((data: Json) => boolean) | undefined): Reading
}

/** A recorded call that is made again. */
export interface ReplayedCall {
  /** Called with what today's policy says, apart from earlier approvals, and why. */
  decided(said: RuleAction, reason: string): void
  /** Absent: the tool runs. */
  readonly stub?: Stub
}

/** The calls of a session that is replayed, by their ids. */
export type ReplayedCalls = ReadonlyMap<string, ReplayedCall>
