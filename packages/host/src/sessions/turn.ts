import { BulkheadError, type ToolDefinition } from '@bulkhead/contract'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import { WaitGroup } from '../model/leases.ts'
import { turnCancelled, type CancelReason, type CancelScope } from '../model/cancel-scope.ts'

/** One response of a model with its calls. Its tools are fixed when it begins. */
export interface Turn {
  /** From 1 in each session. */
  readonly number: number
  readonly signal: AbortSignal
  tools(): readonly ToolDefinition[]
  /** Cancels its present and later calls. The session continues with the next turn. */
  cancel(reason?: CancelReason): void
}

export interface TurnParts {
  readonly number: number
  readonly scope: CancelScope
  readonly offered: OfferedTools
  /** Of the caller that began it. */
  readonly signal: AbortSignal | undefined
}

export class HostTurn implements Turn {
  readonly number: number
  readonly scope: CancelScope
  readonly offered: OfferedTools
  /** Its running calls. The turn ends after them. */
  readonly open = new WaitGroup()
  readonly #subagents = new Set<{ close(): Promise<void> }>()
  readonly #forgetSignal: (() => void) | undefined
  #ending: Promise<void> | undefined

  constructor({ number, scope, offered, signal }: TurnParts) {
    this.number = number
    this.scope = scope
    this.offered = offered
    this.#forgetSignal = signal && scope.follow(signal, turnCancelled)
  }

  get signal(): AbortSignal {
    return this.scope.signal
  }

  tools(): readonly ToolDefinition[] {
    return this.offered.enabled().map(({ tool }) => tool.shown)
  }

  cancel(reason: CancelReason = 'user'): void {
    this.scope.cancel(turnCancelled(reason))
  }

  /** The sub-agent ends with the turn. Contract: one that is closed is disowned. */
  owns(subagent: { close(): Promise<void> }): void {
    this.#subagents.add(subagent)
  }

  /** The sub-agent has ended before it. */
  disowns(subagent: { close(): Promise<void> }): void {
    this.#subagents.delete(subagent)
  }

  /** Refuses calls to come, and resolves when those it has have settled and its sub-agents are closed. Idempotent. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    this.scope.refuse(new BulkheadError('TurnCancelled', 'The turn is over.', { data: { reason: 'parent' } }))
    while (this.open.size > 0) await this.open.whenNone()
    while (this.#subagents.size > 0) await Promise.all([...this.#subagents].map((subagent) => subagent.close()))
    this.#forgetSignal?.()
    this.scope.end()
  }
}
