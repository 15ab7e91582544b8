import { BulkheadError, type CompartmentTool, type Power } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/**
 * What to do about a power that was not granted, by who can: whoever writes a tool declares more; of one whose code is
 * the host's own nobody does, and its caller asks for something else.
 */
export interface Cures {
  readonly author: string
  readonly caller: string
}

/** A refusal for which its reader can do something. As it is thrown it speaks to the author of the tool. */
export class Denial extends BulkheadError {
  readonly what: string
  readonly cures: Cures

  constructor(what: string, cures: Cures, data: Json) {
    super('CapabilityDenied', `${what} ${cures.author}`, { data })
    this.what = what
    this.cures = cures
  }

  toCaller(): BulkheadError {
    return new BulkheadError(this.code, `${this.what} ${this.cures.caller}`, { cause: this, data: this.data ?? null })
  }
}

/**
 * What the services of an extension give to all of its tools is judged by the ceilings of the call. Nothing in the tool or its
 * arguments changes a refusal.
 */
export function requireUnderCeilings(
  { name, grant: { ceilings = [] } }: Pick<CompartmentTool, 'name' | 'grant'>, power: string, deed: string, allows: (ceiling: Power) => boolean,
): void {
  if (ceilings.every(allows)) return
  throw new BulkheadError('CapabilityDenied', `A ceiling does not let the tool ${name} ${deed}. Ask the operator to raise it.`, { data: { power } })
}
