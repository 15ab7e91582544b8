import type { Outcome } from '@bulkhead/contract'
import type { CallView } from './call.ts'

/** What an embedder may hang onto each call. */
export interface Hooks {
  /** false skips the call, and so does a throw: whoever may veto and fails to judge has not agreed. */
  beforeToolExecution?(call: CallView, signal: AbortSignal): boolean | void | Promise<boolean | void>
  /** Told, not waited for. A throw is reported as SuppressedError. */
  afterToolExecution?(call: CallView, outcome: Outcome): void | Promise<void>
}

/** Those of a session and, before them, those of the session it is a sub-agent of: each may veto, all are told. */
export function joinHooks(outer: Hooks | undefined, own: Hooks = {}): Hooks {
  if (!outer) return own
  return {
    async beforeToolExecution(call, signal) {
      if (await outer.beforeToolExecution?.(call, signal) === false) return false
      return own.beforeToolExecution?.(call, signal)
    },
    async afterToolExecution(call, outcome) {
      const told = [outer, own].map(async (hooks) => hooks.afterToolExecution?.(call, outcome))
      await Promise.all(told)
    },
  }
}
