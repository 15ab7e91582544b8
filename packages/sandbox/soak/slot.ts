import type { CompartmentRequest, CompartmentSession, Placement, Sandbox } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { DEFAULT_LIMITS, NO_GRANT } from '@bulkhead/contract'
import { SOURCE } from './errand.ts'

const GRACE_MS = 40

/** Keeps a compartment open for the next call: after an end it opens another. */
export class Slot {
  readonly #sandbox: Sandbox
  readonly #request: CompartmentRequest
  #session: Promise<CompartmentSession> | undefined
  /** Number of compartments opened so far. */
  opened = 0

  constructor(sandbox: Sandbox, placement: Placement, name: string) {
    this.#sandbox = sandbox
    let state: Json = null
    this.#request = {
      extension: { id: name, version: '1.0.0', layer: 'global' },
      placement,
      code: { kind: 'files', main: './index.js', files: new Map([['index.js', Buffer.from(SOURCE)]]) },
      tools: [{ name: 'run', requires: {}, inputSchema: { type: 'object' }, grant: NO_GRANT }],
      config: {},
      limits: { ...DEFAULT_LIMITS, graceMs: GRACE_MS, startMs: 60_000 },
      services: {
        log: () => undefined, env: new Map(), envDeclared: new Set(),
        state: { read: async () => state, write: async (data) => void (state = data) },
      },
    }
  }

  /** Rejects when none could be opened; the next call tries again. */
  session(): Promise<CompartmentSession> {
    this.#session ??= this.#open()
    return this.#session
  }

  #open(): Promise<CompartmentSession> {
    this.opened++
    const opening = this.#sandbox.open(this.#request)
    const forget = (): void => {
      if (this.#session === opening) this.#session = undefined
    }
    opening.then((session) => session.ended.then(forget), forget)
    return opening
  }
}
